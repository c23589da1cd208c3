// AISBench's performance mode: performances/<model>/<dataset>.csv has statistics over the requests,
// <dataset>.json beside it what the whole load gave, each by stage ("total"; "stable" while the
// load was full). Cells carry their unit: "2006.0 ms", "41.6 token/s". AISBench/benchmark @
// 29c363e: ais_bench/benchmark/calculators/base_perf_metric_calculator.py,
// ais_bench/benchmark/summarizers/default_perf.py.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/csv.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"
#include "results/import/serving.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAisBenchPerf = "AISBench performance";
constexpr const char* kWholeLoad = "total";  // the stage of all requests

constexpr auto kLower = std::to_array<std::string_view>({"E2EL", "TTFT", "TPOT", "ITL"});
constexpr auto kHigher = std::to_array<std::string_view>(
    {"OutputTokenThroughput", "PrefillTokenThroughput", "Request Throughput",
     "Input Token Throughput", "Output Token Throughput", "Total Token Throughput",
     "Prefill Token Throughput"});
constexpr auto kUnits = std::to_array<std::pair<std::string_view, const char*>>(
    {{"", "1"}, {"ms", "ms"}, {"token/s", "tok/s"}, {"req/s", "1/s"}});

Direction direction_of(std::string_view name) {
  if (std::ranges::find(kLower, name) != kLower.end()) return Direction::kLower;
  if (std::ranges::find(kHigher, name) != kHigher.end()) return Direction::kHigher;
  return Direction::kNone;
}

struct CellQuantity {
  double value = 0;
  const char* unit = "1";
};

// Nothing of "nan ms" and of an empty cell.
Result<std::optional<CellQuantity>> quantity_of(const Json& cell, const std::string& where) {
  CellQuantity quantity;
  const std::string text = text_of(cell);
  if (text.empty() || text.starts_with("nan")) return std::nullopt;
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::string_view unit = std::string_view(text).substr(std::min(blank + 1, text.size()));
  const auto known =
      std::ranges::find(kUnits, unit, &std::pair<std::string_view, const char*>::first);
  if (!number_of(cell.is_string() ? Json(text.substr(0, blank)) : cell, quantity.value) ||
      known == kUnits.end())
    return bad_input(fmt::format(
        "{}: \"{}\" is no quantity; a number with ms, token/s, req/s or no unit is expected", where,
        text.substr(0, 40)));
  quantity.unit = known->second;
  return std::optional(quantity);
}

// The values of one stage by their names in the file.
using Values = std::map<std::string, CellQuantity>;
using Stages = std::map<std::string, Values>;

Result<Stages> load_values(const fs::path& path) {
  NB_TRY(const Json json, read_foreign_json(path));
  Stages stages;
  for (const auto& [name, by_stage] : json.items()) {
    const std::string where = fmt::format("{}: /{}", path.string(), name);
    if (!by_stage.is_object())
      return bad_input(where + ": values by stage are expected: {\"total\": \"0.5 req/s\"}");
    for (const auto& [stage, cell] : by_stage.items()) {
      NB_TRY(const auto quantity, quantity_of(cell, where + "/" + stage));
      if (quantity) stages[stage][name] = *quantity;
    }
  }
  return stages;
}

// What a load is called: dataset, stage, and how many requests came at once, where the JSON says
// it.
std::string load_of(const fs::path& path, const std::string& stage, const Stages& stages) {
  std::string load = path.stem().string();
  if (stage != kWholeLoad) load += fmt::format(", {} stage", stage);
  const auto values = stages.find(stage);
  if (values == stages.end()) return load;
  for (const auto& [name, word] :
       {std::pair{"Max Concurrency", "concurrency"}, std::pair{"Total Requests", "requests"}})
    if (const auto at = values->second.find(name); at != values->second.end())
      load += fmt::format(", {} {}", word, at->second.value);
  return load;
}

ForeignRun& run_of(const fs::path& path, const std::string& stage, const Stages& stages,
                   ForeignBuilder& builder) {
  const fs::path whole = fs::absolute(path);
  ForeignRun& run = builder.run(kAisBenchPerf, whole.parent_path().filename().string(),
                                load_of(path, stage, stages));
  if (std::ranges::find(run.files, path) == run.files.end()) run.files.push_back(path);
  builder.say(run, "dataset", path.stem().string());
  return run;
}

}  // namespace

bool is_aisbench_perf(const FileHead& head) {
  return head_has_key(head, "Benchmark Duration") && head_has_key(head, "Request Throughput");
}

Result<void> read_aisbench_perf(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Stages stages, load_values(path));
  for (const auto& [stage, values] : stages) {
    ForeignRun& run = run_of(path, stage, stages, builder);
    for (const auto& [name, quantity] : values)
      if (name != "Max Concurrency" && name != "Total Requests")
        add_measurement(run, name, quantity.value, quantity.unit, direction_of(name));
    if (const auto failed = values.find("Failed Requests");
        failed != values.end() && failed->second.value > 0)
      run.notes.push_back(message("import.requests_failed", path.string(),
                                  fmt::format("{}", failed->second.value)));
  }
  return {};
}

bool is_aisbench_perf_requests(const FileHead& head) {
  std::string_view text = head.bytes;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text.starts_with("Performance Parameters,Stage,");
}

Result<void> read_aisbench_perf_requests(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const CsvTable table, read_csv(path));
  Stages load;
  std::error_code error;
  const fs::path beside = fs::path(path).replace_extension(".json");
  if (fs::exists(beside, error))
    if (auto values = load_values(beside))
      load = std::move(*values);  // else its own reader says why
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::vector<std::string>& cells = table.rows[row];
    ForeignRun& run = run_of(path, cells[1], load, builder);
    for (std::size_t column = 2; column < cells.size(); ++column) {
      const std::string name = fmt::format("{} {}", cells[0], table.header[column]);
      NB_TRY(const auto quantity,
             quantity_of(Json(cells[column]),
                         fmt::format("{}:{}: {}", path.string(), table.lines[row], name)));
      const bool is_count = table.header[column] == "N";  // of the requests that it is of
      if (quantity)
        add_measurement(run, name, quantity->value, quantity->unit,
                        is_count ? Direction::kNone : direction_of(cells[0]));
    }
  }
  return {};
}

}  // namespace nb
