// harness/base: what all other readers stand on.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/csv.hpp"
#include "harness/base/gzip.hpp"
#include "harness/base/json_io.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/fuzz/target.hpp"

namespace nb::test {
namespace {

// What was read and is written again reads as the same.
Result<void> fuzz_json(std::string_view bytes) {
  const auto lenient = parse_json(bytes, "f", JsonComments::kAllowed);
  NB_TRY(const Json json, parse_json(bytes, "f"));
  NB_CHECK(lenient && *lenient == json, "[json] comments allowed: another value");
  NB_TRY(const std::string text, dump_json(json));
  const auto again = parse_json(text, "f");
  NB_CHECK(again && *again == json, "[json] not the same when read again: {}", text);
  return {};
}

Result<void> fuzz_json_line(std::string_view bytes) {
  NB_TRY(const Json json, parse_json_line(bytes, "f:1"));
  return dump_json(json, -1) ? Result<void>{} : bad_input("f:1: cannot be written");
}

Result<void> fuzz_csv(std::string_view bytes) {
  NB_TRY(const CsvTable table, parse_csv(bytes, "f.csv"));
  std::string text = csv_line(table.header) + "\n";
  for (const auto& row : table.rows) text += csv_line(row) + "\n";
  const auto again = parse_csv(text, "again");
  NB_CHECK(again, "[csv] not read again: {}", again.error().message);
  return table.column("a") ? Result<void>{} : bad_input("f.csv: no column a");
}

Result<void> fuzz_gzip(std::string_view bytes) {
  NB_TRY(const std::string text, read_text_or_gzip(scratch_file("f.gz", bytes)));
  return {};
}

}  // namespace

void add_base_targets(FuzzTargets& targets) {
  targets.push_back({"json", "any JSON file", "", fuzz_json, [] {
                       return std::vector<std::string>{
                           R"({"a": [1, -2.5e3, true, null], "ä": {"b": "\u00e9\n"}})",
                           "[18446744073709551615, -9223372036854775808, 1e-7]"};
                     }});
  targets.push_back({"json_line", "a line of any JSONL file", "", fuzz_json_line,
                     [] { return std::vector<std::string>{R"({"a": "b", "c": [1]})"}; }});
  targets.push_back({"csv", "any CSV file", "", fuzz_csv, [] {
                       return std::vector<std::string>{"a,b\n1,\"x, \"\"y\"\"\n2\"\n3,\n",
                                                       "\xEF\xBB\xBF"
                                                       "a,b\r\n1,2\r\n"};
                     }});
  targets.push_back({"gzip", "a text packed by gzip", "", fuzz_gzip, [] {
                       return std::vector<std::string>{gzip("text\n"), "not packed"};
                     }});
}

}  // namespace nb::test
