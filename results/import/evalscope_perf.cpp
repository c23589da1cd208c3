// `evalscope perf`: benchmark_summary.json and benchmark_percentile.json of one load, with
// benchmark_args.json beside them; and the table of the summary as it is printed.
// modelscope/evalscope @ fde259d2: evalscope/perf/utils/perf_constants.py, perf_models.py; before
// 1.8 other names: @ cceafe6a (v1.0.0): perf/utils/benchmark_util.py, db_util.py.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/ascii.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/late_tables.hpp"
#include "results/import/readers.hpp"
#include "results/import/serving.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEvalScopePerf = "evalscope perf";
constexpr std::string_view kPrintedTitle[] = {"Benchmarking summary:"};
constexpr Direction kUp = Direction::kHigher, kDown = Direction::kLower, kNo = Direction::kNone;

struct Column {
  std::string_view name;
  const char* unit;
  Direction direction;
};
// Names of now and of before 1.8.
constexpr Column kSummary[] = {
    {"Req Throughput (req/s)", "1/s", kUp},
    {"Request throughput (req/s)", "1/s", kUp},
    {"Output Throughput (tok/s)", "tok/s", kUp},
    {"Output token throughput (tok/s)", "tok/s", kUp},
    {"Total Throughput (tok/s)", "tok/s", kUp},
    {"Total token throughput (tok/s)", "tok/s", kUp},
    {"Input Throughput (tok/s)", "tok/s", kUp},
    {"Input token throughput (tok/s)", "tok/s", kUp},
    {"Avg Latency (s)", "s", kDown},
    {"Average latency (s)", "s", kDown},
    {"Avg TTFT (ms)", "ms", kDown},
    {"Average time to first token (s)", "s", kDown},
    {"Avg TPOT (ms)", "ms", kDown},
    {"Average time per output token (s)", "s", kDown},
    {"Avg ITL (ms)", "ms", kDown},
    {"Average inter-token latency (s)", "s", kDown},
    {"Avg First-Turn TTFT (ms)", "ms", kDown},
    {"Avg Subsequent-Turn TTFT (ms)", "ms", kDown},
    {"Test Duration (s)", "s", kNo},
    {"Time taken for tests (s)", "s", kNo},
    {"Success Requests", "1", kNo},
    {"Succeed requests", "1", kNo},
    {"Failed Requests", "1", kNo},
    {"Failed requests", "1", kNo},
    {"Stream Requests", "1", kNo},
    {"Non-Stream Requests", "1", kNo},
    {"Avg Input Tokens", "1", kNo},
    {"Average input tokens per request", "1", kNo},
    {"Avg Output Tokens", "1", kNo},
    {"Average output tokens per request", "1", kNo},
    {"Avg Turns/Request", "1", kNo},
    {"KV Cache Hit Rate (%)", "%", kNo},
    {"Avg Decoded Tok/Iter", "1", kNo},
    {"Spec. Accept Rate", "1", kNo},
};
constexpr Column kPercentiles[] = {
    {"TTFT (ms)", "ms", kDown},       {"TTFT (s)", "s", kDown},
    {"ITL (ms)", "ms", kDown},        {"ITL (s)", "s", kDown},
    {"TPOT (ms)", "ms", kDown},       {"TPOT (s)", "s", kDown},
    {"Latency (s)", "s", kDown},      {"Input tokens", "1", kNo},
    {"Output tokens", "1", kNo},      {"Output (tok/s)", "tok/s", kUp},
    {"Input (tok/s)", "tok/s", kUp},  {"Total (tok/s)", "tok/s", kUp},
    {"Decode (tok/s)", "tok/s", kUp},
};
// What the load was, in both generations' names.
constexpr std::pair<std::string_view, const char*> kLoad[] = {
    {"Request Rate (req/s)", "rate"},
    {"Concurrency", "concurrency"},
    {"Number of concurrency", "concurrency"},
    {"Total Requests", "requests"},
    {"Total requests", "requests"}};

const Column* column_of(std::span<const Column> columns, std::string_view name) {
  const auto at = std::ranges::find(columns, name, &Column::name);
  return at == columns.end() ? nullptr : &*at;
}

const char* load_word(std::string_view name) {
  const auto at = std::ranges::find(kLoad, name, &std::pair<std::string_view, const char*>::first);
  return at == std::end(kLoad) ? nullptr : at->second;
}

using Values = std::map<std::string, double>;  // as the summary names them

Values values_of(const Json& summary) {
  Values values;
  double number = 0;
  if (summary.is_object())
    for (const auto& [key, value] : summary.items())
      if (number_of(value, number)) values[key] = number;
  return values;
}

// A rate of -1 and no rate are both "as fast as it goes".
std::string load_of(const Values& values) {
  std::map<std::string, std::string> words;
  for (const auto& [key, value] : values)
    if (const char* word = load_word(key); word != nullptr && value > 0)
      words[word] = fmt::format("{} {}", word, value);
  std::string load;
  for (const auto& [word, text] : words) load += (load.empty() ? "" : ", ") + text;
  return load;
}

void say_arguments(const Json& arguments, ForeignRun& run, ForeignBuilder& builder) {
  for (const char* key : {"url", "api", "dataset", "dataset_path", "tokenizer_path", "stream",
                          "max_tokens", "min_tokens", "max_prompt_length", "min_prompt_length",
                          "prefix_length", "temperature", "top_p", "top_k", "seed"})
    builder.say(run, key, text_of(member_of(arguments, key)));
}

// Of the load in that folder.
ForeignRun& run_of(const fs::path& path, const Values& values, ForeignBuilder& builder) {
  const fs::path folder = fs::absolute(path).parent_path();
  std::error_code error;
  Json arguments;
  if (const fs::path beside = folder / "benchmark_args.json"; fs::exists(beside, error))
    if (auto read = read_foreign_json(beside)) arguments = std::move(*read);
  std::string model = text_of(member_of(arguments, "model_id"));
  if (model.empty()) model = text_of(member_of(arguments, "model"));
  ForeignRun& run = builder.run(kEvalScopePerf, model, load_of(values));
  if (std::ranges::find(run.files, path) == run.files.end()) run.files.push_back(path);
  say_arguments(arguments, run, builder);
  return run;
}

void add_summary(const Values& values, const std::string& where, ForeignRun& run,
                 ForeignBuilder& builder) {
  for (const auto& [key, value] : values) {
    if (load_word(key) != nullptr) continue;
    if (const Column* column = column_of(kSummary, key))
      add_measurement(run, key, value, column->unit, column->direction);
    else
      builder.ignore(message("import.unknown_key", where, key));
  }
  for (const char* key : {"Failed Requests", "Failed requests"})
    if (const auto at = values.find(key); at != values.end() && at->second > 0)
      run.notes.push_back(message("import.requests_failed", where, fmt::format("{}", at->second)));
}

// "| Key | Value |", "│ Key │ Value │" → the two cells; nothing for other lines.
std::optional<std::pair<std::string, std::string>> two_cells(std::string_view line) {
  constexpr std::string_view kBars[] = {"│", "|"};
  for (const std::string_view bar : kBars) {
    const std::size_t first = line.find(bar);
    if (first == line.npos) continue;
    const std::size_t second = line.find(bar, first + bar.size());
    if (second == line.npos) continue;
    const std::size_t third = std::min(line.find(bar, second + bar.size()), line.size());
    return std::pair{
        std::string(trimmed(line.substr(first + bar.size(), second - first - bar.size()))),
        std::string(trimmed(line.substr(second + bar.size(), third - second - bar.size())))};
  }
  return std::nullopt;
}

// The table that ends the log; "Total / Success / Failed" is three values in one cell.
Values printed_values(std::string_view text) {
  Values values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto cells = two_cells(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!cells) continue;
    double number = 0;
    const auto& [key, cell] = *cells;
    const bool is_known = load_word(key) != nullptr || column_of(kSummary, key) != nullptr;
    if (is_known && number_of(Json(cell), number)) values[key] = number;
    if (key != "Total / Success / Failed") continue;
    std::string_view rest = cell;
    for (const char* part : {"Total Requests", "Success Requests", "Failed Requests"}) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      if (number_of(Json(std::string(trimmed(rest.substr(0, slash)))), number))
        values[part] = number;
      rest.remove_prefix(std::min(slash + 1, rest.size()));
    }
  }
  return values;
}

// The log prints its arguments as JSON before it begins.
std::string printed_model(std::string_view text) {
  constexpr std::string_view kKey = "\"model\": \"";
  const std::size_t at = text.find(kKey);
  if (at == text.npos) return {};
  const std::string_view rest = text.substr(at + kKey.size());
  return std::string(rest.substr(0, rest.find('"')));
}

}  // namespace

bool is_evalscope_perf(const FileHead& head) {
  return (head_has_key(head, "Avg Latency (s)") && head_has_key(head, "Concurrency")) ||
         (head_has_key(head, "Average latency (s)") && head_has_key(head, "Number of concurrency"));
}

Result<void> read_evalscope_perf(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json summary, read_foreign_json(path, NotNumbers::kAsTexts));
  const Values values = values_of(summary);
  add_summary(values, path.string(), run_of(path, values, builder), builder);
  return {};
}

bool is_evalscope_perf_percentiles(const FileHead& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (at == std::string_view::npos || head.bytes[at] != '[') return false;
  const FileHead row{head.path, head.bytes.substr(at + 1), head.whole};
  return head_has_key(row, "Percentiles") && head_has_key(row, "Latency (s)");
}

Result<void> read_evalscope_perf_percentiles(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json rows, read_foreign_json(path, NotNumbers::kAsTexts));
  Values values;
  std::error_code error;
  const fs::path beside = fs::absolute(path).parent_path() / "benchmark_summary.json";
  if (fs::exists(beside, error))
    if (const auto summary = read_foreign_json(beside, NotNumbers::kAsTexts))
      values = values_of(*summary);
  ForeignRun& run = run_of(path, values, builder);
  for (const Json& row : rows) {
    const std::string percentile = text_of(member_of(row, "Percentiles"));
    for (const Column& column : kPercentiles) {
      double number = 0;
      if (!number_of(member_of(row, column.name), number)) continue;
      add_measurement(run, fmt::format("{} {}", percentile, column.name), number, column.unit,
                      column.direction);
    }
  }
  return {};
}

bool is_evalscope_perf_table(const FileHead& head) {
  return holds_late_table(head, kPrintedTitle, [](std::string_view text) {
    return !printed_values(text.substr(text.find(kPrintedTitle[0]))).empty();
  });
}

Result<void> read_evalscope_perf_table(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const std::string text, text_around_tables(path, kPrintedTitle));
  const Values values = printed_values(text);
  ForeignRun& run = builder.run(kEvalScopePerf, printed_model(text), load_of(values));
  run.files.push_back(path);
  add_summary(values, path.string(), run, builder);
  return {};
}

}  // namespace nb
