// Baselines that other projects' tests hold their measurements against, in YAML: vllm-ascend's
// nightly cases, which AISBench runs, and opencompass' list of scores. No measurements: their runs
// say so, and each value has the tolerance that the project's test allows.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "harness/base/fs.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/import/opencompass.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr double kHundred = 100;

std::string scalar_text(const YAML::Node& node) {
  return node && node.IsScalar() ? node.Scalar() : std::string();
}

std::optional<double> scalar_number(const YAML::Node& node) {
  const std::string text = scalar_text(node);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size() ||
      !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::string place_of(const fs::path& path, const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? path.string() : fmt::format("{}:{}", path.string(), mark.line + 1);
}

// yaml-cpp does not follow "<<", with which these files share their cases. Depth: of anchors in
// anchors.
YAML::Node member(const YAML::Node& node, const std::string& key, int depth = 8) {
  if (!node || !node.IsMap() || depth == 0) return YAML::Node(YAML::NodeType::Undefined);
  if (node[key]) return node[key];
  return node["<<"] ? member(node["<<"], key, depth - 1) : YAML::Node(YAML::NodeType::Undefined);
}

// Every member, those of anchors too.
std::vector<std::pair<std::string, YAML::Node>> members(const YAML::Node& node, int depth = 8) {
  std::vector<std::pair<std::string, YAML::Node>> all;
  if (!node || !node.IsMap() || depth == 0) return all;
  for (const auto& entry : node) {
    if (scalar_text(entry.first) != "<<") {
      all.emplace_back(scalar_text(entry.first), entry.second);
      continue;
    }
    for (auto& inherited : members(entry.second, depth - 1)) all.push_back(std::move(inherited));
  }
  return all;
}

// "gsm8k/gsm8k_gen_0_shot_noncot_chat_prompt" → "gsm8k", as AISBench's summary calls it.
std::string dataset_of(const YAML::Node& benchmark) {
  std::string name = scalar_text(member(benchmark, "dataset_conf"));
  if (name.empty()) name = scalar_text(member(benchmark, "dataset_path"));
  return name.substr(0, name.find('/'));
}

// tools/aisbench.py: the accuracy within `threshold` points, the output's throughput at least
// `threshold` times the baseline.
void take_benchmark(const std::string& key, const YAML::Node& benchmark, const fs::path& path,
                    ForeignRun& run, ForeignBuilder& builder) {
  const std::string kind = scalar_text(member(benchmark, "case_type"));
  const auto baseline = scalar_number(member(benchmark, "baseline"));
  const auto threshold = scalar_number(member(benchmark, "threshold"));
  const std::string dataset = dataset_of(benchmark);
  const bool is_accuracy = kind == "accuracy";
  if (!baseline || dataset.empty() || (!is_accuracy && kind != "performance")) {
    builder.ignore(message("import.unknown_benchmark", place_of(path, benchmark), key));
    return;
  }
  SeriesName name{dataset, "", is_accuracy ? "accuracy" : "output_throughput"};
  // The same dataset with another length or load.
  if (std::ranges::find(run.series, name, &ForeignSeries::name) != run.series.end())
    name.filter = key;
  ForeignSeries& series = builder.series(run, name);
  series.reported = is_accuracy ? *baseline / kHundred : *baseline;
  series.primary = is_accuracy;
  if (threshold)
    series.tolerance = is_accuracy ? *threshold / kHundred : std::fabs(1 - *threshold) * *baseline;
}

void take_case(const YAML::Node& test, const fs::path& path, ForeignBuilder& builder) {
  const auto benchmarks = members(member(test, "benchmarks"));
  const std::string model = scalar_text(member(test, "model"));
  std::string name = scalar_text(member(test, "name"));
  if (name.empty()) name = path.stem().string();
  if (benchmarks.empty()) {
    builder.ignore(message("import.no_benchmarks", path.string(), name));
    return;
  }
  ForeignRun& run = builder.file_run(kOpenCompass, model, "", path, name);
  builder.say(run, "report", "vllm-ascend's baseline");
  if (run.notes.empty()) run.notes.push_back(message("import.expectations"));
  for (const auto& [key, benchmark] : benchmarks)
    take_benchmark(key, benchmark, path, run, builder);
}

// The metric at the end of "race-middle_accuracy" and "openai_humaneval_humaneval_pass@1".
std::optional<SeriesName> split_name(const std::string& text) {
  static constexpr auto kOwn = std::to_array<std::string_view>(
      {"score", "naive_average", "weighted_average", "humaneval_pass@1"});
  std::optional<SeriesName> found;
  for (std::size_t at = text.rfind('_'); at != text.npos && at > 0; at = text.rfind('_', at - 1)) {
    const std::string_view metric = std::string_view(text).substr(at + 1);
    const bool is_own = std::ranges::find(kOwn, metric) != kOwn.end();
    if (is_own || (!found && metric_kind(metric) != nullptr))
      found = SeriesName{text.substr(0, at), "", std::string(metric)};
    if (is_own) break;
  }
  return found;
}

// Points: autotest/utils/oc_score_assert.py, for runs of many samples.
double tolerance_of(std::string_view name) {
  for (const std::string_view beginning :
       {"dingo", "GPQA", "high", "mmlu_pro_", "alpaca_eval", "compassarena_"})
    if (name.starts_with(beginning)) return 5;
  return name.starts_with("humanevalx") ? 10 : 3.2;
}

template <class Read>
Result<void> parsed(const fs::path& path, Read read) {
  NB_TRY(const std::string text, read_file(path));
  try {
    return read(YAML::Load(text));
  } catch (const YAML::Exception& what) {  // yaml-cpp knows no other way to say it
    return bad_input(fmt::format("{}:{}: {}", path.string(), what.mark.line + 1, what.msg));
  }
}

bool is_yaml(const FileHead& head) {
  const fs::path ending = head.path.extension();
  return (ending == ".yaml" || ending == ".yml") && head.bytes.find('\0') == head.bytes.npos;
}

}  // namespace

bool is_nightly_baseline(const FileHead& head) {
  if (!is_yaml(head)) return false;
  for (const std::string_view key : {"benchmarks:", "case_type:", "baseline:", "model:"})
    if (head.bytes.find(key) == head.bytes.npos) return false;
  return true;
}

Result<void> read_nightly_baseline(const fs::path& path, ForeignBuilder& builder) {
  return parsed(path, [&](const YAML::Node& root) -> Result<void> {
    for (const YAML::Node& test : root["test_cases"]) take_case(test, path, builder);
    // Of several computers: one case a file.
    if (!root["test_cases"]) take_case(root, path, builder);
    return {};
  });
}

bool is_opencompass_baseline(const FileHead& head) {
  if (!is_yaml(head)) return false;
  // "model:" at a line's beginning, below it "  dataset_metric: 78.12" and nothing else.
  std::size_t models = 0, scores = 0;
  for (std::size_t begin = 0; begin < head.bytes.size();) {
    const std::size_t end = std::min(head.bytes.find('\n', begin), head.bytes.size());
    std::string_view line = head.bytes.substr(begin, end - begin);
    begin = end + 1;
    if (end == head.bytes.size() && !head.whole) break;  // cut off
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.front() != ' ') {
      if (!line.ends_with(':')) return false;
      ++models;
      continue;
    }
    const std::size_t colon = line.rfind(": ");
    const std::size_t name = line.find_first_not_of(' ');
    if (colon == line.npos || name == line.npos || name > colon) return false;
    if (line.find_first_not_of("0123456789.", colon + 2) != line.npos) return false;
    if (!split_name(std::string(line.substr(name, colon - name)))) return false;
    ++scores;
  }
  return models > 0 && scores > 0;
}

Result<void> read_opencompass_baseline(const fs::path& path, ForeignBuilder& builder) {
  return parsed(path, [&](const YAML::Node& root) -> Result<void> {
    for (const auto& entry : root) {
      ForeignRun& run =
          builder.file_run(kOpenCompass, scalar_text(entry.first), "", path, path.stem().string());
      builder.say(run, "report", "opencompass' baseline");
      if (run.notes.empty()) run.notes.push_back(message("import.expectations"));
      for (const auto& score : entry.second) {
        const std::string text = scalar_text(score.first);
        const auto name = split_name(text);
        const auto value = scalar_number(score.second);
        if (!name || !value)
          return bad_input(fmt::format("{}: {}: \"{}\" is no score", place_of(path, score.second),
                                       text, scalar_text(score.second)));
        ForeignSeries& series = builder.series(run, *name);
        if (series.reported)
          return bad_input(fmt::format("{}: {} stands twice", place_of(path, score.second), text));
        series.reported = *value / kHundred;
        series.direction = Direction::kHigher;
        series.tolerance = tolerance_of(text) / kHundred;
      }
    }
    return {};
  });
}

}  // namespace nb
