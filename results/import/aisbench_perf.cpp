// AISBench's performance mode: performances/<model>/<dataset>.csv has statistics over the requests,
// <dataset>.json beside it what the whole load gave. AISBench/benchmark @ 29c363e:
// ais_bench/benchmark/calculators/base_perf_metric_calculator.py,
// ais_bench/benchmark/summarizers/default_perf.py.
#include "results/import/aisbench_perf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/csv.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"
#include "results/import/serving.hpp"
#include "results/messages/sentences.hpp"

namespace nb {

namespace fs = std::filesystem;

namespace aisbench {
namespace {

constexpr const char* kHarness = "AISBench performance";
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

// A log and the files that it names, read together, say everything twice.
void add(ForeignRun& run, const std::string& name, const Quantity& quantity, Direction direction) {
  const auto same = [&](const Metric& one) {
    return one.name == name && one.value == quantity.value;
  };
  if (std::ranges::none_of(run.metrics, same))
    add_measurement(run, name, quantity.value, quantity.unit, direction);
}

}  // namespace

Result<std::optional<Quantity>> quantity_of(std::string_view cell, const std::string& where) {
  Quantity quantity;
  if (cell.empty() || cell.starts_with("nan")) return std::nullopt;
  const std::size_t end = std::min(cell.find(' '), cell.size());
  const std::size_t begin = std::min(cell.find_first_not_of(' ', end), cell.size());
  const std::string_view unit = cell.substr(begin);
  const auto known =
      std::ranges::find(kUnits, unit, &std::pair<std::string_view, const char*>::first);
  if (!number_of(Json(cell.substr(0, end)), quantity.value) || known == kUnits.end())
    return bad_input(fmt::format(
        "{}: \"{}\" is no quantity; a number with ms, token/s, req/s or no unit is expected", where,
        cell.substr(0, 40)));
  quantity.unit = known->second;
  return std::optional(quantity);
}

std::string load_of(const std::string& dataset, const std::string& stage, const Stages& load) {
  std::string text = dataset;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (stage != kWholeLoad) add(stage + " stage");
  const auto values = load.find(stage);
  if (values == load.end()) return text;
  for (const auto& [name, word] :
       {std::pair{"Max Concurrency", "concurrency"}, std::pair{"Total Requests", "requests"}})
    if (const auto at = values->second.find(name); at != values->second.end())
      add(fmt::format("{} {}", word, at->second.value));
  return text;
}

ForeignRun& run_of(const fs::path& file, const std::string& model, const std::string& dataset,
                   const std::string& stage, const Stages& load, ForeignBuilder& builder) {
  const std::string name = load_of(dataset, stage, load);
  ForeignRun& run = model.empty() ? builder.file_run(kHarness, "", name, file, file.stem().string())
                                  : builder.run(kHarness, model, name);
  if (std::ranges::find(run.files, file) == run.files.end()) run.files.push_back(file);
  if (!dataset.empty()) builder.say(run, "dataset", dataset);
  return run;
}

void add_load(ForeignRun& run, const Values& values, const std::string& where) {
  for (const auto& [name, quantity] : values)
    if (name != "Max Concurrency" && name != "Total Requests")
      add(run, name, quantity, direction_of(name));
  const auto failed = values.find("Failed Requests");
  if (failed == values.end() || failed->second.value <= 0) return;
  const Sentence note =
      message("import.requests_failed", where, fmt::format("{}", failed->second.value));
  if (std::ranges::find(run.notes, note) == run.notes.end()) run.notes.push_back(note);
}

void add_request(ForeignRun& run, const std::string& row, const std::string& column,
                 const Quantity& quantity) {
  const bool is_count = column == "N";  // of the requests that it is of
  add(run, fmt::format("{} {}", row, column), quantity,
      is_count ? Direction::kNone : direction_of(row));
}

}  // namespace aisbench

namespace {

Result<aisbench::Stages> load_values(const fs::path& path) {
  NB_TRY(const Json json, read_foreign_json(path));
  aisbench::Stages stages;
  for (const auto& [name, by_stage] : json.items()) {
    const std::string where = fmt::format("{}: /{}", path.string(), name);
    if (!by_stage.is_object())
      return bad_input(where + ": values by stage are expected: {\"total\": \"0.5 req/s\"}");
    for (const auto& [stage, cell] : by_stage.items()) {
      NB_TRY(const auto quantity, aisbench::quantity_of(text_of(cell), where + "/" + stage));
      if (quantity) stages[stage][name] = *quantity;
    }
  }
  return stages;
}

ForeignRun& run_of(const fs::path& path, const std::string& stage, const aisbench::Stages& load,
                   ForeignBuilder& builder) {
  return aisbench::run_of(path, fs::absolute(path).parent_path().filename().string(),
                          path.stem().string(), stage, load, builder);
}

}  // namespace

bool is_aisbench_perf(const FileHead& head) {
  return head_has_key(head, "Benchmark Duration") && head_has_key(head, "Request Throughput");
}

Result<void> read_aisbench_perf(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const aisbench::Stages stages, load_values(path));
  for (const auto& [stage, values] : stages)
    aisbench::add_load(run_of(path, stage, stages, builder), values, path.string());
  return {};
}

bool is_aisbench_perf_requests(const FileHead& head) {
  return without_byte_order_mark(head.bytes).starts_with("Performance Parameters,Stage,");
}

Result<void> read_aisbench_perf_requests(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const CsvTable table, read_csv(path));
  if (table.header.size() < 2)
    return bad_input(
        fmt::format("{}:1: columns \"Performance Parameters\" and \"Stage\" are "
                    "expected, as AISBench writes them",
                    path.string()));
  aisbench::Stages load;
  std::error_code error;
  const fs::path beside = fs::path(path).replace_extension(".json");
  if (fs::exists(beside, error))
    if (auto values = load_values(beside))
      load = std::move(*values);  // else its own reader says why
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::vector<std::string>& cells = table.rows[row];
    ForeignRun& run = run_of(path, cells[1], load, builder);
    for (std::size_t column = 2; column < cells.size(); ++column) {
      const std::string& name = table.header[column];
      NB_TRY(const auto quantity,
             aisbench::quantity_of(cells[column], fmt::format("{}:{}: {} {}", path.string(),
                                                              table.lines[row], cells[0], name)));
      if (quantity) aisbench::add_request(run, cells[0], name, *quantity);
    }
  }
  return {};
}

}  // namespace nb
