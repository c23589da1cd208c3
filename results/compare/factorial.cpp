#include "results/compare/factorial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "results/compare/compare.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// "depth=low", …; empty for a record of no configuration.
std::vector<std::string> levels_text(const Record& record) {
  const Json* device =
      record.settings->contains("device") ? &record.settings->at("device") : nullptr;
  if (device == nullptr || !device->is_object() || !device->contains("factors")) return {};
  std::vector<std::string> levels;
  for (const Json& one : device->at("factors"))
    if (one.is_string()) levels.push_back(one.get<std::string>());
  return levels;
}

bool is_high(const std::string& level) { return level.ends_with("=high"); }

// Configurations in the order of the design: all low first, all high last.
Result<Factorial> design_of(const RunRecords& run) {
  std::map<std::string, std::vector<std::string>> configurations;
  for (const StoredRecord& stored : run.records)
    if (auto levels = levels_text(stored.record); !levels.empty())
      configurations[stored.record.trained_on.empty() ? stored.record.device
                                                      : stored.record.trained_on] =
          std::move(levels);
  if (configurations.empty())
    return bad_input(
        fmt::format("{}: no record is of an experiment's configuration: the suite has no "
                    "/factorial (suites/ablation.json has one)",
                    run.path.string()));
  Factorial factorial;
  for (const std::string& level : configurations.begin()->second)
    factorial.factors.push_back(level.substr(0, level.find('=')));
  std::vector<std::pair<std::vector<bool>, std::string>> sorted;
  for (const auto& [device, levels] : configurations) {
    std::vector<bool> high;
    for (const std::string& level : levels) high.push_back(is_high(level));
    sorted.emplace_back(std::move(high), device);
  }
  std::ranges::sort(sorted);
  for (auto& [levels, device] : sorted) {
    factorial.levels.push_back(std::move(levels));
    factorial.configurations.push_back(std::move(device));
  }
  const bool same_factors = std::ranges::all_of(factorial.levels, [&](const auto& levels) {
    return levels.size() == factorial.factors.size();
  });
  if (!same_factors || !is_balanced(factorial.levels))
    return bad_input(
        fmt::format("{}: the {} configurations that are there are not balanced, so effects cannot "
                    "be told apart; run the "
                    "suite to its end (npubench run goes on where it stopped)",
                    run.path.string(), configurations.size()));
  factorial.aliases = alias_structure(factorial.levels);
  return factorial;
}

// Quality of a trained model: not its time, not counts.
bool is_judged(const Record& record, const Metric& metric) {
  if (metric.clock != Clock::kNone || metric.direction == Direction::kNone) return false;
  if (record.kind == "train")
    return metric.name == metric::kValBpb || metric.name == "val_loss" ||
           metric.name == "val_accuracy";
  return metric.name == task_of_metric(metric.name) ||
         metric.name.ends_with(std::string("/") + metric::kAccuracy);
}

// Stage by stage, its training before its evaluations.
std::size_t place_of(const Record& record) {
  constexpr std::string_view kStages[] = {"base", "mid", "sft", "dpo", "rl"};
  const std::string stage = record.name.substr(0, record.name.find_first_of("@."));
  const auto at = std::ranges::find(kStages, stage);
  return 2 * static_cast<std::size_t>(at - std::begin(kStages)) + (record.kind == "eval" ? 1 : 0);
}

// Of one metric: configuration → seed → value.
struct Collected {
  const Record* first = nullptr;
  const Metric* metric = nullptr;
  std::map<std::string, std::map<std::int64_t, double>> values;
  Sentence incomparable;
};

std::vector<std::int64_t> seeds_of_all(const Factorial& factorial, const Collected& one) {
  std::vector<std::int64_t> seeds;
  for (const auto& [seed, value] : one.values.begin()->second)
    if (std::ranges::all_of(factorial.configurations,
                            [&, s = seed](const std::string& configuration) {
                              const auto found = one.values.find(configuration);
                              return found != one.values.end() && found->second.contains(s);
                            }))
      seeds.push_back(seed);
  return seeds;
}

void add_metric(Factorial& factorial, const Collected& one) {
  MetricEffects effects{
      one.first->name, one.metric->name, one.metric->unit, one.metric->direction, {}, {}};
  const std::string title = effects.node + " " + effects.metric;
  if (!one.incomparable.empty()) {
    factorial.notes.push_back(message("effects.left_out", title, one.incomparable));
    return;
  }
  effects.seeds = seeds_of_all(factorial, one);
  std::set<std::int64_t> all;
  for (const auto& [configuration, seeds] : one.values)
    for (const auto& [seed, value] : seeds) all.insert(seed);
  if (effects.seeds.empty()) {
    factorial.notes.push_back(message("effects.left_out", title, message("effects.no_seed")));
    return;
  }
  if (effects.seeds.size() < all.size())
    factorial.notes.push_back(
        message("effects.some_seeds", title, effects.seeds.size(), all.size()));
  std::vector<std::vector<double>> values;
  for (const std::string& configuration : factorial.configurations) {
    values.emplace_back();
    for (const std::int64_t seed : effects.seeds)
      values.back().push_back(one.values.at(configuration).at(seed));
  }
  effects.table = main_effects(factorial.levels, values);
  factorial.metrics.push_back(std::move(effects));
}

}  // namespace

bool is_arm(const Record& record) { return !levels_text(record).empty(); }

bool is_inner_arm(const Record& record) {
  const std::vector<std::string> levels = levels_text(record);
  const auto high = std::ranges::count_if(levels, is_high);
  return high > 0 && high < std::ssize(levels);
}

Result<Factorial> factorial_of(const RunRecords& run) {
  NB_TRY(Factorial factorial, design_of(run));
  std::vector<std::pair<std::string, Collected>> metrics;  // in the order of the records
  for (const StoredRecord& stored : run.records) {
    const Record& record = stored.record;
    if (record.status != "ok") {
      factorial.damaged.push_back(describe(record) + " failed: " + record.error);
      continue;
    }
    if ((record.kind != "train" && record.kind != "eval") || !record.seed || !is_arm(record) ||
        (!record.trained_on.empty() && record.trained_on != record.device))
      continue;
    for (const Metric& metric : record.metrics) {
      if (!is_judged(record, metric) || !metric.value) continue;
      const std::string key = record.kind + " " + record.name + " " + metric.name;
      auto found = std::ranges::find(metrics, key, &std::pair<std::string, Collected>::first);
      if (found == metrics.end())
        found = metrics.insert(metrics.end(), {key, {&record, &metric, {}, {}}});
      Collected& one = found->second;
      const std::string task = record.kind == "eval" ? task_of_metric(metric.name) : "";
      if (one.incomparable.empty())
        one.incomparable = incomparable_because(*one.first, record, task);
      one.values[record.device][*record.seed] = *metric.value;
    }
  }
  std::ranges::stable_sort(metrics, {},
                           [](const auto& metric) { return place_of(*metric.second.first); });
  for (const auto& [key, one] : metrics) add_metric(factorial, one);
  factorial.damaged.insert(factorial.damaged.end(), run.damaged.begin(), run.damaged.end());
  return factorial;
}

}  // namespace nb
