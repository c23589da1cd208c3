#include "results/gate/noise_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "harness/base/fs.hpp"
#include "harness/base/host_info.hpp"
#include "results/compare/compare.hpp"
#include "results/stats/stats.hpp"
#include "results/store/acceptance.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/rl_work.hpp"

namespace nb {
namespace {

constexpr std::size_t kFewestSeeds = 3;

std::string node_of(Record record) {
  record.seed.reset();
  return describe(record);
}

Result<void> check_runs(std::span<const RunRecords> runs) {
  std::set<fs::path> folders;
  for (const RunRecords& run : runs) {
    std::error_code ignored;
    if (!folders.insert(fs::weakly_canonical(run.path, ignored)).second)
      return bad_input(fmt::format(
          "calibrate: {} is given twice; a run shows no noise against itself", run.path.string()));
    if (!run.damaged.empty()) return bad_input("calibrate: " + run.damaged.front());
    for (const StoredRecord& stored : run.records)
      if (stored.record.status != "ok")
        return bad_input(fmt::format("calibrate: {}: {} failed; a profile is made of sound runs",
                                     run.path.string(), describe(stored.record)));
  }
  return {};
}

// Flips between two runs of the same weights.
Result<void> add_flips(const RunRecords& a, const RunRecords& b,
                       std::map<std::pair<std::string, std::string>, NoiseTask>& tasks) {
  const Comparison comparison = compare_runs(a, b);
  for (const RecordPair& pair : comparison.pairs) {
    if (!pair.fixed_weights || !pair.incomparable.empty()) continue;
    for (const ItemComparison& items : pair.items) {
      if (!items.error.empty()) return bad_input("calibrate: " + items.error);
      const std::string node = node_of(pair.a->record);
      NoiseTask& task = tasks[{node, items.task}];
      task.node = node;
      task.task = items.task;
      ++task.pairs;
      task.items += items.counts.n();
      task.flips += items.counts.only_a + items.counts.only_b;
    }
  }
  return {};
}

bool is_of_seeds(const Record& record) {
  return record.seed && (record.kind == "train" || record.kind == "eval");
}

// Scores and losses; of simulated costs RL's throughput alone, whose answers have other lengths
// with every seed (gate_costs.hpp). What one step decides has no spread worth keeping.
bool spreads_over_seeds(const Record& record, const Metric& metric) {
  if (!metric.value || metric.direction == Direction::kNone) return false;
  if (metric.clock == Clock::kNone) return metric.n != 1;
  return metric.clock == Clock::kSim && metric.name == metric::kThroughput && is_rl(record);
}

// One recipe a node: the seeds of two would spread by what was asked.
Result<void> add_recipes(std::span<const RunRecords> runs, std::vector<NoiseRecipe>& recipes) {
  std::map<std::string, std::pair<std::size_t, std::string>> place;  // node → recipe, run
  for (const RunRecords& run : runs)
    for (const StoredRecord& stored : run.records) {
      const Record& record = stored.record;
      if (!is_of_seeds(record)) continue;
      NoiseRecipe recipe = recipe_of(record);
      const auto [at, is_new] = place.try_emplace(recipe.node, recipes.size(), run.path.string());
      if (is_new) {
        recipes.push_back(std::move(recipe));
        continue;
      }
      const auto different = recipe_differences(recipes[at->second.first], recipe);
      if (different.empty()) continue;
      return bad_input(fmt::format(
          "calibrate: {} of {}: {} is {}, and {} in {}; a profile is made of runs with the same "
          "settings",
          describe(record), run.path.string(), different[0].field, different[0].b, different[0].a,
          at->second.second));
    }
  return {};
}

struct Values {
  const Record* first = nullptr;
  std::string unit;
  std::map<std::int64_t, double> by_seed;
};

// A metric of (node, name) over the seeds of all runs, in order of first appearance.
std::vector<std::pair<std::pair<std::string, std::string>, Values>> values_of(
    std::span<const RunRecords> runs) {
  std::vector<std::pair<std::pair<std::string, std::string>, Values>> all;
  std::map<std::pair<std::string, std::string>, std::size_t> place;
  for (const RunRecords& run : runs)
    for (const StoredRecord& stored : run.records) {
      const Record& record = stored.record;
      if (!is_of_seeds(record)) continue;
      for (const Metric& metric : record.metrics) {
        if (!spreads_over_seeds(record, metric)) continue;
        const std::pair key(node_of(record), metric.name);
        const auto [at, is_new] = place.try_emplace(key, all.size());
        if (is_new) all.push_back({key, {&record, metric.unit, {}}});
        Values& values = all[at->second].second;
        const std::string task = record.kind == "eval" ? task_of_metric(metric.name) : "";
        if (!incomparable_because(*values.first, record, task).empty()) continue;
        values.by_seed[*record.seed] = *metric.value;
      }
    }
  return all;
}

void add_metrics_of(std::span<const RunRecords> runs, NoiseProfile& profile) {
  std::size_t constant = 0;
  int fewest = 0;
  for (const auto& [key, values] : values_of(runs)) {
    if (values.by_seed.size() < kFewestSeeds) continue;
    std::vector<double> list;
    for (const auto& [seed, value] : values.by_seed) list.push_back(value);
    NoiseMetric metric;
    std::tie(metric.node, metric.metric) = key;
    metric.unit = values.unit;
    metric.seeds = static_cast<int>(list.size());
    metric.mean = mean(list);
    metric.sd = sample_sd(list);
    const bool is_constant =
        std::all_of(list.begin(), list.end(), [&](double v) { return v == list[0]; });
    if (is_constant || !(metric.sd > 0)) {
      ++constant;  // no bound: any change would be beyond it
      continue;
    }
    metric.upper80 = sd_upper80(metric.sd, metric.seeds - 1);
    fewest = fewest == 0 ? metric.seeds : std::min(fewest, metric.seeds);
    profile.metrics.push_back(std::move(metric));
  }
  if (constant > 0)
    profile.notes.push_back(fmt::format("{} metric{} with the same value in every seed left out",
                                        constant, constant == 1 ? "" : "s"));
  if (fewest > 0 && fewest < kNoiseSeeds)
    profile.notes.push_back(fmt::format("only {} seeds behind some metric; {} give a usable spread",
                                        fewest, kNoiseSeeds));
}

}  // namespace

FieldList NoiseTask::fields() {
  return {{"node", "evaluation, device", &node, {.required = true}},
          {"task", "whose answers", &task, {.required = true}},
          {"pairs", "of runs", &pairs, {.min = 1}},
          {"items", "of all pairs", &items, {.min = 1}},
          {"flips", "of them answered differently", &flips, {.min = 0}},
          {"discordance", "flips/items", &discordance, {.min = 0, .max = 1, .required = true}}};
}

FieldList NoiseMetric::fields() {
  return {{"node", "training or evaluation, device", &node, {.required = true}},
          {"metric", "its name", &metric, {.required = true}},
          {"unit", "of mean and sd", &unit},
          {"seeds", "behind it", &seeds, {.min = 2, .max = 100000, .required = true}},
          {"mean", "over the seeds", &mean},
          {"sd", "standard deviation over the seeds", &sd, {.min = 0, .required = true}},
          {"upper80", "upper end of its one-sided 80 % interval", &upper80, {.min = 0}}};
}

FieldList NoiseSource::fields() {
  return {{"run", "run folder", &run}, {"digest", "of its records", &digest}};
}

FieldList NoiseProfile::fields() {
  return {{"schema",
           kNoiseSchema,
           &schema,
           {.one_of = {kNoiseSchema, kFormerNoiseSchema}, .required = true}},
          {"suite", "measured suite", &suite},
          {"devices", "emulated devices in it", &devices},
          {"host", "processor that computed it", &host},
          {"made_at", "UTC", &made_at},
          {"sources", "runs it was measured on", list(&sources)},
          {"tasks", "answers that flip", list(&tasks)},
          {"metrics", "spread over seeds", list(&metrics)},
          {"recipes", "what the seeds were asked for", list(&recipes)},
          {"notes", "for the reviewer", &notes}};
}

Result<NoiseProfile> calibrate(std::span<const RunRecords> runs) {
  NB_TRY_VOID(check_runs(runs));
  NoiseProfile profile;
  profile.host = host_info().cpu;
  profile.made_at = utc_time_text();
  std::set<std::string> devices;
  for (const RunRecords& run : runs) {
    profile.suite = profile.suite.empty() ? run.path.filename().string() : profile.suite;
    NB_TRY(std::string digest, run_digest(run));
    profile.sources.push_back({run.path.string(), std::move(digest)});
    for (const StoredRecord& stored : run.records)
      if (!stored.record.device.empty()) devices.insert(stored.record.device);
  }
  profile.devices.assign(devices.begin(), devices.end());
  std::map<std::pair<std::string, std::string>, NoiseTask> tasks;
  for (std::size_t i = 0; i + 1 < runs.size(); ++i)
    NB_TRY_VOID(add_flips(runs[i], runs[i + 1], tasks));
  for (auto& [key, task] : tasks) {
    task.discordance = static_cast<double>(task.flips) / static_cast<double>(task.items);
    profile.tasks.push_back(std::move(task));
  }
  NB_TRY_VOID(add_recipes(runs, profile.recipes));
  add_metrics_of(runs, profile);
  if (profile.tasks.empty() && profile.metrics.empty())
    return bad_input(
        "calibrate: nothing to measure; give two runs that evaluated the same weights, or runs "
        "with three seeds at least");
  return profile;
}

Result<NoiseProfile> read_noise_profile(const std::filesystem::path& path) {
  NB_TRY(const Json json, read_json(path, JsonComments::kAllowed));
  return parse_struct<NoiseProfile>(json, path.string());
}

void apply(const NoiseProfile& profile, GatePolicy& policy) {
  policy.noise_recipes = profile.recipes;
  for (const NoiseTask& task : profile.tasks)
    policy.noise_discordance.try_emplace(task.node + ": " + task.task, task.discordance);
  for (const NoiseMetric& metric : profile.metrics) {
    const std::string key = metric.node + ": " + metric.metric;
    if (!policy.noise_sd.try_emplace(key, metric.sd).second) continue;
    policy.noise_seeds_of[key] = metric.seeds;
    policy.noise_mean_of[key] = metric.mean;
  }
}

}  // namespace nb
