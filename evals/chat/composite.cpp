#include "evals/chat/composite.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "evals/base/eval_metrics.hpp"
#include "harness/base/hash.hpp"
#include "results/stats/stats.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

constexpr auto kTasks = std::to_array<std::string_view>(
    {"chat_arc_easy", "chat_arc_challenge", "mmlu", "gsm8k", "humaneval", "spellingbee"});
constexpr auto kWorldTasks = std::to_array<std::string_view>(
    {"mw/arc_easy", "mw/arc_challenge", "mw/mmlu", "mw/gsm8k", "mw/humaneval", "mw/spellingbee"});
constexpr std::size_t kFive = 5;
// Of either table.
constexpr double kChance[] = {.25, .25, .25, 0, 0, 0};

const EvalResult* result_for(std::string_view task, std::span<const EvalResult> results) {
  const auto found = std::find_if(results.begin(), results.end(),
                                  [&](const EvalResult& result) { return result.task == task; });
  return found == results.end() ? nullptr : &*found;
}

// nullptr: other shards have the rest of the items.
const Metric* metric_of(const EvalResult& result, const char* name) {
  const std::string full = metric::of_task(result.task, name);
  const auto found = std::find_if(result.metrics.begin(), result.metrics.end(),
                                  [&](const Metric& metric) { return metric.name == full; });
  return found == result.metrics.end() ? nullptr : &*found;
}

std::string comparability_hash(const EvalResult& result) {
  Sha256 hash;
  for (const auto& [key, value] : result.comparability)
    hash.update(fmt::format("{}\n{}\n", key, value));
  return hash.hex();
}

double variance_of_centred(const Metric& accuracy, double chance) {
  const double a = accuracy.value.value();
  return a * (1 - a) / (static_cast<double>(accuracy.n) * (1 - chance) * (1 - chance));
}

EvalResult composite(const ChatCoreSet& set, std::span<const EvalResult> results,
                     const EvalSettings& settings) {
  EvalResult composite;
  composite.task = set.name;
  if (settings.max_per_task > 0) composite.task += "_estimate";
  double sum = 0, variance = 0;
  std::int64_t present = 0;
  std::string missing, unscored, why, names;
  Sha256 tasks_hash;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const std::string_view task = set.tasks[i];
    const EvalResult* result = result_for(task, results);
    const Metric* accuracy = result ? metric_of(*result, metric::kAccuracy) : nullptr;
    const Metric* centred = result ? metric_of(*result, metric::kCentred) : nullptr;
    if (accuracy == nullptr || centred == nullptr) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", task);
      continue;
    }
    if (!accuracy->value || !centred->value) {
      unscored += fmt::format("{}{}", unscored.empty() ? "" : ", ", task);
      if (why.empty()) why = why_unscored(accuracy->reason_if_null);
      continue;
    }
    ++present;
    sum += centred->value.value();
    variance += variance_of_centred(*accuracy, kChance[i]);
    names += fmt::format("{}{}", names.empty() ? "" : " ", task);
    tasks_hash.update(comparability_hash(*result));
  }
  const auto size = static_cast<double>(set.tasks.size());
  Metric value;
  value.name = composite.task;
  value.task = composite.task;
  value.unit = "1";
  value.direction = Direction::kHigher;
  value.n = present;
  if (!unscored.empty()) {
    value.reason_if_null =
        fmt::format("{} needs a score of each task; none: {} ({})", set.name, unscored, why);
  } else if (missing.empty()) {
    value.value = sum / size;
    const double margin = kZ95 * std::sqrt(variance) / size;
    value.low = *value.value - margin;
    value.high = *value.value + margin;
  } else {
    value.reason_if_null = fmt::format("{} needs all of its {} tasks; missing: {}", set.name,
                                       set.tasks.size(), missing);
  }
  composite.metrics.push_back(std::move(value));
  composite.comparability = {{composite.task + "/task_set", sha256_hex(names)},
                             {composite.task + "/tasks", tasks_hash.hex()}};
  return composite;
}

}  // namespace

std::span<const ChatCoreSet> chat_core_sets() {
  static constexpr std::array<ChatCoreSet, 3> kSets = {
      {{"chatcore", std::span(kTasks).first(kFive)},
       {"chatcore_with_spellingbee", kTasks},
       {"mw/chatcore", kWorldTasks}}};
  return kSets;
}

std::vector<EvalResult> chat_composites(std::span<const EvalResult> results,
                                        const EvalSettings& settings) {
  const auto is_there = [&](std::string_view task) { return result_for(task, results) != nullptr; };
  const auto any_is_there = [&](const ChatCoreSet& set) {
    return std::any_of(set.tasks.begin(), set.tasks.end(), is_there);
  };
  const auto sets = chat_core_sets();
  std::vector<EvalResult> all;
  if (any_is_there(sets[0])) {
    all.push_back(composite(sets[0], results, settings));
    if (is_there(kTasks.back())) all.push_back(composite(sets[1], results, settings));
  }
  if (any_is_there(sets[2])) all.push_back(composite(sets[2], results, settings));
  return all;
}

}  // namespace nb
