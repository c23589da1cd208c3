#include "harness/doctor/signatures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/base/check.hpp"
#include "harness/base/csv.hpp"
#include "harness/doctor/crash_lines.hpp"
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
  std::string_view what, what_zh;
};
constexpr CodeClass kClasses[] = {
    {"EI", 4, "HCCL, collective communication", "HCCL，集合通信"},
    {"EJ", 4, "HCCP, the process that holds a card's network", "HCCP，管理卡网络的进程"},
    {"EE", 4, "the runtime", "运行时"},
    {"EH", 4, "ACL", "ACL"},
    {"EL", 4, "the driver", "驱动"},
    {"EZ", 4, "operators", "算子"},
    {"EK", 4, "profiling", "性能采集"},
    {"EP", 4, "dump", "数据 dump"},
    {"E1", 4, "the graph engine", "图引擎"},
    {"E2", 4, "the fusion engine", "融合引擎"},
    {"E3", 4, "the AI CPU", "AI CPU"},
    {"E4", 4, "the compiler of operators", "算子编译器"},
    {"E8", 4, "tiling of operators", "算子 tiling"},
    {"WI", 4, "a warning of HCCL", "HCCL 警告"},
    {"WE", 4, "a warning of the runtime", "运行时警告"},
    {"100", 3, "ACL: an argument or a state", "ACL：参数或状态"},
    {"107", 3, "the runtime: an argument", "运行时：参数"},
    {"148", 3, "ACL: an operator's argument", "ACL：算子参数"},
    {"161", 3, "aclnn: an operator's argument", "aclnn：算子参数"},
    {"200", 3, "ACL: a resource", "ACL：资源"},
    {"207", 3, "the runtime: a resource", "运行时：资源"},
    {"500", 3, "ACL: an internal error", "ACL：内部错误"},
    {"507", 3, "the device", "设备"},
    {"561", 3, "aclnn: an internal error of an operator", "aclnn：算子内部错误"},
};
// ERRmmccc of torch_npu (Ascend/pytorch's error code table).
struct Words {
  std::string_view what, what_zh;
};
constexpr std::array<Words, 5> kModules = {{{"torch_npu", "torch_npu"},
                                            {"operators of torch_npu", "torch_npu 算子"},
                                            {"torch_npu's distributed part", "torch_npu 分布式"},
                                            {"torch_npu's graphs", "torch_npu 图"},
                                            {"torch_npu's profiler", "torch_npu 性能采集"}}};
struct Cause {
  std::string_view code, what, what_zh;
};
constexpr Cause kCauses[] = {
    {"001", "a parameter", "参数"},
    {"002", "a type", "类型"},
    {"003", "a value", "值"},
    {"004", "a pointer", "指针"},
    {"005", "internal", "内部"},
    {"006", "memory", "内存"},
    {"007", "not supported", "不支持"},
    {"008", "not found", "未找到"},
    {"009", "not available", "不可用"},
    {"010", "a system call", "系统调用"},
    {"011", "a time-out", "超时"},
    {"012", "a permission", "权限"},
    {"100", "an error of ACL", "ACL 错误"},
    {"200", "an error of HCCL", "HCCL 错误"},
    {"300", "an error of GE", "GE 错误"},
};

struct SignatureTable {
  std::vector<Pattern> patterns;    // of signature_rows()
  std::vector<int> row_of_literal;  // -1: of a class
  std::vector<std::size_t> always;  // rows without a literal
  std::unique_ptr<LiteralScan> scan;
  Pattern code{R"((?<![A-Za-z0-9])((?:E[EHIJKLPZ]|W[EI])\d{4}|E[1-48]\d{4})(?![0-9A-Za-z]))"};
  Pattern number{
      R"((?:[Ee]rror[ _]?[Cc]ode(?: is)?|ErrCode|ret(?:urn|Code)?(?: is)?|errno)\W{0,3}((?:100|107|148|161|20[0-7]|500|507|561)\d{3})(?!\d))"};
  Pattern torch_npu{R"((?<![A-Za-z0-9])(ERR\d{5})(?!\d))"};
  // A family that no list has, where a message begins with its code as CANN's do.
  Pattern other_code{R"((?:^|[\]:>] ?)(E[A-Z]\d{4}): )"};
  Pattern exit{R"(exit ?code\s*:?\s*-(\d{1,2})\b)"};
  Pattern exception{
      R"(^(?:\[rank\d+\]:)?\s*(?:\S+: )?([A-Za-z_][\w.]*(?:Error|Exception|Interrupt))\b(?:: (.*))?$)"};
  // At the end of a traceback: "queue.Empty", "Stop: 3"; not "INFO: …".
  Pattern any_exception{R"(^((?:[A-Za-z_]\w*\.)+\w+|[A-Z]\w*[a-z]\w*)(?::(?: .*)?)?$)"};

  SignatureTable() {
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
    for (const char* hint : {"EE",
                             "EH",
                             "EI",
                             "EJ",
                             "EK",
                             "EL",
                             "EP",
                             "EZ",
                             "WE1",
                             "WI1",
                             "E1",
                             "E2",
                             "E3",
                             "E4",
                             "E8",
                             "rror code",
                             "rrorCode",
                             "rror_code",
                             "ErrCode",
                             "ret 1",
                             "ret 2",
                             "ret 5",
                             "retCode",
                             "return ",
                             "errno",
                             "ERR",
                             "xitcode",
                             "xit code",
                             "Error",
                             "Exception",
                             "Interrupt",
                             kTracebackBegins.data(),
                             kLaunchHint.data(),
                             kWhatHint.data()})
      literals.emplace_back(hint);
    for (char letter = 'A'; letter <= 'Z'; ++letter)  // of families that no list has
      for (const char digit : {'0', '1', '9'}) literals.push_back({'E', letter, digit});
    for (const std::string_view hint : crash_hints()) literals.emplace_back(hint);
    row_of_literal.resize(literals.size(), -1);
    scan = std::make_unique<LiteralScan>(literals);
  }
};

SignatureTable& table() {
  static SignatureTable made;
  return made;
}

Matched of_class(Naming naming, std::string code, std::string_view meaning,
                 std::string_view meaning_zh) {
  Matched matched;
  matched.naming = naming;
  matched.code = std::move(code);
  matched.meaning = meaning;
  matched.meaning_zh = meaning_zh;
  return matched;
}

Matched of_code(std::string_view code) {
  return of_class(Naming::kCode, std::string(code), class_of_code(code),
                  class_of_code(code, Language::kZh));
}

Matched of_exception(std::string_view name) {
  if (passes_on(name))
    return of_class(Naming::kPassedOn, std::string(name), "only says that another process failed",
                    "只说明另一个进程失败");
  return of_class(Naming::kException, std::string(name), "an exception of the program",
                  "程序的异常");
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

std::string class_of_code(std::string_view code, Language language) {
  const auto in = [&](std::string_view what, std::string_view what_zh) {
    return std::string(language == Language::kZh ? what_zh : what);
  };
  if (code.starts_with("ERR") && code.size() == 8 &&
      code.find_first_not_of("0123456789", 3) == code.npos) {
    const auto module = static_cast<std::size_t>((code[3] - '0') * 10 + (code[4] - '0'));
    if (module >= kModules.size())
      return in("torch_npu, a module that is not known", "torch_npu，未知模块");
    const std::string name = in(kModules[module].what, kModules[module].what_zh);
    for (const Cause& cause : kCauses)
      if (code.substr(5) == cause.code)
        return name + in(": ", "：") + in(cause.what, cause.what_zh);
    return name;
  }
  for (const CodeClass& one : kClasses) {
    const std::size_t size = one.start.size() + one.digits;
    if (code.size() == size && code.starts_with(one.start)) return in(one.what, one.what_zh);
  }
  // 201xxx … 206xxx are resources as 200 and 207 are.
  if (code.size() == 6 && code.starts_with("20")) return in("ACL: a resource", "ACL：资源");
  return "";
}

std::optional<Matched> match_line(std::string_view line) {
  SignatureTable& known = table();
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
    if (const auto m = pattern->match(line); m.size() == 2 && !class_of_code(m[1]).empty())
      return of_code(m[1]);
  if (const auto m = known.other_code.match(line); m.size() == 2)
    return of_class(Naming::kCode, std::string(m[1]), "a code of CANN, its family is not known",
                    "CANN 错误码，系列未知");
  if (const auto m = known.exit.match(line); m.size() == 2)
    return of_class(Naming::kCrash, "signal " + std::string(m[1]),
                    "the process was ended by a signal", "进程被信号终止");
  const auto crash = crash_in(line);
  if (crash && !crash->is_loggers)
    return of_class(Naming::kCrash, crash->code, crash->what, crash->what_zh);
  if (const auto m = known.exception.match(line); m.size() >= 2) return of_exception(m[1]);
  if (crash) return of_class(Naming::kLogger, crash->code, crash->what, crash->what_zh);
  return std::nullopt;
}

std::optional<Matched> match_exception(std::string_view line) {
  if (auto matched = match_line(line); matched && matched->naming != Naming::kLogger)
    return matched;
  const auto m = table().any_exception.match(line);
  if (m.size() < 2) return std::nullopt;
  return of_exception(m[1]);
}

std::size_t next_hint(std::string_view text, std::size_t from) {
  const SignatureTable& known = table();
  return known.always.empty() ? known.scan->first_end(text, from)
                              : std::min(text.find('\n', from), text.size());
}

}  // namespace nb::doctor
