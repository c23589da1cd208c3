#include "harness/doctor/signatures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/base/check.hpp"
#include "harness/base/csv.hpp"
#include "harness/doctor/literal_scan.hpp"
#include "harness/doctor/pattern.hpp"
#include "harness/doctor/tables.hpp"

namespace nb::doctor {
namespace {

CsvTable table_of(std::string_view name) {
  for (const TableText& table : table_texts())
    if (table.name == name) {
      auto parsed = parse_csv(table.text, std::string(name) + ".csv");
      NB_CHECK(parsed.has_value(), "{}", parsed.error().message);
      return std::move(*parsed);
    }
  NB_CHECK(false, "no table {}", name);
  return {};
}

Role role_of(const std::string& text) {
  for (const Role role : {Role::kCause, Role::kConsequence, Role::kWrapper, Role::kWarning})
    if (name(role) == text) return role;
  NB_CHECK(false, "role {}", text);
  return Role::kUnknown;
}

std::vector<SignatureRow> read_rows() {
  std::map<std::string, std::array<std::string, 3>> chinese;
  for (const auto& cells : table_of("signatures_zh").rows)
    chinese[cells.at(0)] = {cells.at(1), cells.at(2), cells.at(3)};
  std::vector<SignatureRow> rows;
  for (const auto& cells : table_of("signatures").rows) {
    SignatureRow row{
        cells.at(0), cells.at(1), role_of(cells.at(2)), cells.at(3), cells.at(4), cells.at(5),
        cells.at(6), cells.at(7), cells.at(8),          cells.at(9), {},          {},
        {}};
    if (const auto found = chinese.find(row.id); found != chinese.end()) {
      row.meaning_zh = found->second[0];
      row.check_first_zh = found->second[1];
      row.remedy_zh = found->second[2];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Codes of CANN by their first letters, as hicann/runtime's and hicann/hccl's error_code_ref group
// them; numbers of ACL as Ascend/pytorch's NPUErrorCodes.h does.
struct CodeClass {
  std::string_view start;
  std::size_t digits;  // behind the start
  std::string_view what;
};
constexpr CodeClass kClasses[] = {
    {"EI", 4, "HCCL, collective communication"},
    {"EJ", 4, "HCCP, the process that holds a card's network"},
    {"EE", 4, "the runtime"},
    {"EH", 4, "ACL"},
    {"EL", 4, "the driver"},
    {"EZ", 4, "operators"},
    {"EK", 4, "profiling"},
    {"EP", 4, "dump"},
    {"E1", 4, "the graph engine"},
    {"E2", 4, "the fusion engine"},
    {"E3", 4, "the AI CPU"},
    {"E4", 4, "the compiler of operators"},
    {"E8", 4, "tiling of operators"},
    {"WI", 4, "a warning of HCCL"},
    {"WE", 4, "a warning of the runtime"},
    {"100", 3, "ACL: an argument or a state"},
    {"107", 3, "the runtime: an argument"},
    {"148", 3, "ACL: an operator's argument"},
    {"161", 3, "aclnn: an operator's argument"},
    {"200", 3, "ACL: a resource"},
    {"207", 3, "the runtime: a resource"},
    {"500", 3, "ACL: an internal error"},
    {"507", 3, "the device"},
    {"561", 3, "aclnn: an internal error of an operator"},
};
// ERRmmccc of torch_npu (Ascend/pytorch's error code table).
constexpr std::array<std::string_view, 5> kModules = {"torch_npu", "operators of torch_npu",
                                                      "torch_npu's distributed part",
                                                      "torch_npu's graphs", "torch_npu's profiler"};
struct Cause {
  std::string_view code, what;
};
constexpr Cause kCauses[] = {
    {"001", "a parameter"},     {"002", "a type"},           {"003", "a value"},
    {"004", "a pointer"},       {"005", "internal"},         {"006", "memory"},
    {"007", "not supported"},   {"008", "not found"},        {"009", "not available"},
    {"010", "a system call"},   {"011", "a time-out"},       {"012", "a permission"},
    {"100", "an error of ACL"}, {"200", "an error of HCCL"}, {"300", "an error of GE"},
};

struct Table {
  std::vector<Pattern> patterns;    // of signature_rows()
  std::vector<int> row_of_literal;  // -1: of a class
  std::vector<std::size_t> always;  // rows without a literal
  std::unique_ptr<LiteralScan> scan;
  Pattern code{R"((?<![A-Za-z0-9])((?:E[EHIJKLPZ]|W[EI])\d{4}|E[1-48]\d{4})(?![0-9A-Za-z]))"};
  Pattern number{
      R"((?:[Ee]rror[ _]?[Cc]ode(?: is)?|ErrCode|ret(?:urn|Code)?(?: is)?|errno)\W{0,3}((?:100|107|148|161|20[0-7]|500|507|561)\d{3})(?!\d))"};
  Pattern torch_npu{R"((?<![A-Za-z0-9])(ERR0[0-4]\d{3})(?!\d))"};
  Pattern exit{R"(exit ?code\s*:?\s*-(\d{1,2})\b)"};
  Pattern exception{
      R"(^(?:\[rank\d+\]:)?\s*(?:\S+: )?([A-Za-z_][\w.]*(?:Error|Exception|Interrupt))\b(?:: (.*))?$)"};

  Table() {
    std::vector<std::string> literals;
    const auto rows = signature_rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      patterns.emplace_back(rows[i].pattern);
      const auto own = literals_of(rows[i].pattern);
      if (own.empty()) always.push_back(i);
      for (const std::string& literal : own) {
        literals.push_back(literal);
        row_of_literal.push_back(static_cast<int>(i));
      }
    }
    for (const char* hint :
         {"EE",    "EH",        "EI",       "EJ",        "EK",      "EL",      "EP",
          "EZ",    "WE1",       "WI1",      "E1",        "E2",      "E3",      "E4",
          "E8",    "rror code", "rrorCode", "rror_code", "ErrCode", "ret 1",   "ret 2",
          "ret 5", "retCode",   "return ",  "errno",     "ERR0",    "xitcode", "xit code",
          "Error", "Exception", "Interrupt"}) {
      literals.push_back(hint);
      row_of_literal.push_back(-1);
    }
    scan = std::make_unique<LiteralScan>(literals);
  }
};

Table& table() {
  static Table made;
  return made;
}

Matched of_class(std::string code, std::string meaning) {
  Matched matched;
  matched.code = std::move(code);
  matched.meaning = std::move(meaning);
  return matched;
}

}  // namespace

std::string_view name(Role role) {
  switch (role) {
    case Role::kCause:
      return "cause";
    case Role::kConsequence:
      return "consequence";
    case Role::kWrapper:
      return "wrapper";
    case Role::kWarning:
      return "warning";
    case Role::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::span<const SignatureRow> signature_rows() {
  static const std::vector<SignatureRow> rows = read_rows();
  return rows;
}

const SignatureRow* find_signature(std::string_view id) {
  const auto rows = signature_rows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const SignatureRow& r) { return r.id == id; });
  return row == rows.end() ? nullptr : &*row;
}

std::string class_of_code(std::string_view code) {
  if (code.starts_with("ERR") && code.size() == 8 && code[3] == '0' && code[4] <= '4') {
    for (const Cause& cause : kCauses)
      if (code.substr(5) == cause.code)
        return fmt::format("{}: {}", kModules[static_cast<std::size_t>(code[4] - '0')], cause.what);
    return std::string(kModules[static_cast<std::size_t>(code[4] - '0')]);
  }
  for (const CodeClass& one : kClasses) {
    const std::size_t size = one.start.size() + one.digits;
    if (code.size() == size && code.starts_with(one.start)) return std::string(one.what);
  }
  // 201xxx … 206xxx are resources as 200 and 207 are.
  if (code.size() == 6 && code.starts_with("20")) return "ACL: a resource";
  return "";
}

std::optional<Matched> match_line(std::string_view line) {
  Table& known = table();
  std::vector<int> rows;
  bool has_class = false;
  for (const int literal : known.scan->in(line)) {
    const int row = known.row_of_literal[static_cast<std::size_t>(literal)];
    if (row < 0)
      has_class = true;
    else
      rows.push_back(row);
  }
  for (const std::size_t row : known.always) rows.push_back(static_cast<int>(row));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  // A row that passes on another error is the answer where no other row is.
  std::optional<Matched> wrapper;
  for (const int row : rows) {
    const bool is_wrapper = signature_rows()[static_cast<std::size_t>(row)].role == Role::kWrapper;
    if (is_wrapper && wrapper) continue;
    const auto groups = known.patterns[static_cast<std::size_t>(row)].match(line);
    if (groups.empty()) continue;
    Matched matched;
    matched.row = &signature_rows()[static_cast<std::size_t>(row)];
    matched.code = matched.row->id;
    for (std::size_t i = 1; i < groups.size(); ++i) matched.groups.emplace_back(groups[i]);
    if (!is_wrapper) return matched;
    wrapper = std::move(matched);
  }
  if (!has_class) return wrapper;
  if (wrapper) {
    // It may carry a code that the table does not have; …9999 says nothing.
    const auto m = known.code.match(line);
    if (m.size() != 2 || m[1].ends_with("9999")) return wrapper;
  }
  for (const Pattern* pattern : {&known.code, &known.number, &known.torch_npu})
    if (const auto m = pattern->match(line); m.size() == 2)
      if (std::string what = class_of_code(m[1]); !what.empty())
        return of_class(std::string(m[1]), std::move(what));
  if (const auto m = known.exit.match(line); m.size() == 2)
    return of_class("signal " + std::string(m[1]), "the process was ended by a signal");
  if (const auto m = known.exception.match(line); m.size() >= 2)
    return of_class(std::string(m[1]), "an exception of the program");
  return std::nullopt;
}

std::size_t next_hint(std::string_view text, std::size_t from) {
  const Table& known = table();
  return known.always.empty() ? known.scan->first_end(text, from)
                              : std::min(text.find('\n', from), text.size());
}

}  // namespace nb::doctor
