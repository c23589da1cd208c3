// vllm-ascend's expectations for its accuracy tests: YAML with a model, the settings of its server
// and, for each task and metric of lm-evaluation-harness, the value that a test holds against the
// measured one. No measurement itself: its runs say so.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>

#include "harness/base/fs.hpp"
#include "results/import/lm_eval.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

// Of the value: RTOL in vllm-project/vllm-ascend @ 182b75ea: tests/e2e/models/
// test_lm_eval_correctness.py, and of speech in test_asr_eval_correctness.py.
constexpr double kTolerance = 0.05, kSpeechTolerance = 0.03;

std::string at_line(const fs::path& path, const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? path.string() : fmt::format("{}:{}", path.string(), mark.line + 1);
}

std::string node_text(const YAML::Node& node) {
  return node && node.IsScalar() ? node.Scalar() : std::string();
}

Result<double> value_of(const fs::path& path, const YAML::Node& metric) {
  const std::string text = node_text(metric["value"]);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value))
    return bad_input(
        fmt::format("{}: the metric's value \"{}\" is no number", at_line(path, metric), text));
  return value;
}

void say_provenance(const YAML::Node& root, ForeignRun& run, ForeignBuilder& builder) {
  builder.say(run, "report", "vllm-ascend's expectation");
  constexpr const char* kKeys[][2] = {{"backend", "model_type"},
                                      {"accelerator", "hardware"},
                                      {"batch_size", "batch_size"},
                                      {"limit", "limit"},
                                      {"chat_template", "apply_chat_template"},
                                      {"fewshot_as_multiturn", "fewshot_as_multiturn"}};
  for (const auto& [key, name] : kKeys) builder.say(run, key, node_text(root[name]));
  const YAML::Node serve = root["serve"];
  if (!serve || !serve.IsMap()) return;
  std::map<std::string, std::string> settings;
  for (const auto& entry : serve) settings[node_text(entry.first)] = node_text(entry.second);
  builder.say(run, "dtype", settings["dtype"] == "auto" ? "" : settings["dtype"]);
  std::string text;
  for (const auto& [key, value] : settings)
    if (!value.empty() && key != "dtype")
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  builder.say(run, "model_args", text);
}

Result<void> read_tasks(const YAML::Node& root, const fs::path& path, ForeignRun& run,
                        ForeignBuilder& builder) {
  const std::string shots = node_text(root["num_fewshot"]);
  const double tolerance =
      node_text(root["model_type"]) == "vllm-asr" ? kSpeechTolerance : kTolerance;
  for (const YAML::Node& task : root["tasks"]) {
    const std::string name = task.IsMap() ? node_text(task["name"]) : "";
    if (name.empty()) return bad_input(at_line(path, task) + ": a task without a name");
    for (const YAML::Node& metric : task["metrics"]) {
      const auto series_name = lm_eval_series(name, node_text(metric["name"]));
      if (!series_name) return bad_input(at_line(path, metric) + ": a metric without a name");
      ForeignSeries& series = builder.series(run, *series_name);
      if (series.reported)
        return bad_input(fmt::format("{}: {} {} is expected twice", at_line(path, metric), name,
                                     node_text(metric["name"])));
      NB_TRY(series.reported, value_of(path, metric));
      series.tolerance = tolerance * std::fabs(*series.reported);
      if (!shots.empty()) series.must_match["shots"] = shots;
    }
    mark_primary(run, name, builder);
  }
  return {};
}

}  // namespace

bool is_accuracy_expectation(const FileHead& head) {
  const std::string_view text = head.bytes;
  return text.starts_with("model_name:") && text.find("\ntasks:") != text.npos &&
         text.find("metrics:") != text.npos;
}

Result<void> read_accuracy_expectation(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const std::string text, read_file(path));
  try {
    const YAML::Node root = YAML::Load(text);
    const std::string model = node_text(root["model_name"]);
    if (model.empty()) return bad_input(path.string() + ": model_name is empty");
    ForeignRun& run = builder.run(kLmEval, model, "expected");
    if (!run.files.empty())
      return bad_input(fmt::format("{}: {} is expected in {}, too; name one of the files",
                                   path.string(), model, run.files.front().string()));
    run.files.push_back(path);
    run.notes.push_back(message("import.expectations"));
    say_provenance(root, run, builder);
    return read_tasks(root, path, run, builder);
  } catch (const YAML::Exception& what) {  // yaml-cpp knows no other way to say it
    return bad_input(fmt::format("{}:{}: {}", path.string(), what.mark.line + 1, what.msg));
  }
}

}  // namespace nb
