// DCLM's evaluation files: one model's accuracies by task, and its composites of them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

// A composite of centred accuracies: CORE is of 22 tasks, Extended of 53; v1 and v2 are two tables
// of chance accuracies (mlfoundations/dclm#114, PR#115). "Core" and "Extended" repeat one of them.
struct Composite {
  const char *key, *task, *filter;
  bool primary;
};
constexpr Composite kComposites[] = {{"Core_v2", "CORE", "v2", true},
                                     {"Core_v1", "CORE", "v1", false},
                                     {"Extended_v2", "Extended", "v2", false},
                                     {"Extended_v1", "Extended", "v1", false}};
// Of files before the second table of baselines.
constexpr Composite kOldComposites[] = {{"low_variance_datasets_centered", "CORE", "", true},
                                        {"aggregated_centered_results", "Extended", "", false}};

// "evaluation_c4_original-…_heavy.json" → "c4_original-…": many files have one architecture as
// their model, so only a file's name says which training it is.
std::string model_of(const fs::path& path, const Json& json) {
  const std::string model = text_of(member_of(json, "model"));
  if (model.find('/') != std::string::npos) return model;  // of the Hugging Face hub
  std::string name = path.stem().string();
  constexpr std::string_view kBefore = "evaluation_", kAfter = "_heavy";
  if (name.starts_with(kBefore)) name.erase(0, kBefore.size());
  if (name.ends_with(kAfter)) name.erase(name.size() - kAfter.size());
  return name;
}

Result<void> add_totals(ForeignBuilder& builder, ForeignRun& run, const Json& values,
                        const char* metric, const std::string& where) {
  const bool is_accuracy = std::string_view(metric) == "accuracy";
  for (const auto& [task, value] : values.items()) {
    if (value.is_null() || (value.is_string() && text_of(value).starts_with("N/A"))) continue;
    double number = 0;
    if (!number_of(value, number) || (is_accuracy && (number < 0 || number > 1)))
      return bad_input(fmt::format("{}/{}: {} is no {}", where, task, text_of(value), metric));
    ForeignSeries& series = builder.series(run, {task, "", metric});
    series.reported = number;
    if (is_accuracy) continue;
    series.primary = false;
    series.direction = Direction::kLower;
  }
  return {};
}

}  // namespace

bool is_dclm(const FileHead& head) {
  return head_has_key(head, "eval_metrics") && head_has_key(head, "creation_date");
}

Result<void> read_dclm(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json json, read_foreign_json(path));
  const std::string where = path.string() + ": /eval_metrics";
  const Json& metrics = member_of(json, "eval_metrics");
  const Json& accuracies = member_of(metrics, "icl");
  if (!accuracies.is_object() || accuracies.empty())
    return bad_input(where + "/icl: the accuracies by task are missing");
  ForeignRun& run = builder.run("DCLM", model_of(path, json));
  run.files.push_back(path);
  builder.say(run, "architecture", text_of(member_of(json, "model")));
  builder.say(run, "date", text_of(member_of(json, "creation_date")));
  builder.say(run, "baselines", text_of(member_of(json, "eval_version")));
  NB_TRY_VOID(add_totals(builder, run, accuracies, "accuracy", where + "/icl"));
  // Spelt so in all files.
  if (const Json& losses = member_of(metrics, "downstream_perpexity"); losses.is_object())
    NB_TRY_VOID(add_totals(builder, run, losses, "perplexity", where + "/downstream_perpexity"));
  const auto add = [&](std::span<const Composite> composites) {
    bool any = false;
    for (const Composite& composite : composites) {
      double number = 0;
      if (!number_of(member_of(json, composite.key), number)) continue;
      any = true;
      ForeignSeries& series = builder.series(run, {composite.task, composite.filter, "centered"});
      series.reported = number;
      series.primary = composite.primary;
    }
    return any;
  };
  if (!add(kComposites) && !add(kOldComposites)) run.notes.push_back(message("import.no_core"));
  if (const std::string missing = text_of(member_of(json, "missing tasks"));
      !missing.empty() && missing != "[]")
    run.notes.push_back(message("import.missing_tasks", missing));
  return {};
}

}  // namespace nb
