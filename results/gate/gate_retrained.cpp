// What is judged of models that were trained anew: one metric over the seeds of each side, the
// first steps of the same seed, and whether the seed has an effect at all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "results/compare/loss_curve.hpp"
#include "results/gate/gate_collect.hpp"
#include "results/gate/gate_costs.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// The policy's noise profile, unless its seeds lie elsewhere than the baseline's: then it was made
// of another recipe, and its spread says nothing of this one.
std::optional<SeedNoise> noise_of_policy(Gate& gate, const std::string& node,
                                         const std::string& metric, const std::string& unit,
                                         const std::vector<double>& base) {
  const auto profile = gate.policy.spread_of(node, metric);
  if (!profile) return std::nullopt;
  const SeedNoise noise = noise_of_profile(profile->sd, profile->seeds);
  if (!profile->mean || std::fabs(mean(base) - *profile->mean) <= kGrossDeviations * noise.sd)
    return noise;
  gate.note(
      metric, node,
      message("gate.other_noise", value_text(*profile->mean, unit), value_text(mean(base), unit)));
  return std::nullopt;
}

// How far retrained runs may lie apart: noise profile, the baseline's own seeds, its loss curve.
std::optional<SeedNoise> noise_of(Gate& gate, const SeedDifference& group) {
  for (const std::string& metric : group.metrics)
    if (const auto profile = noise_of_policy(gate, group.group, metric, group.unit, group.a))
      return profile;
  if (group.a.size() >= 3) return noise_of_seeds(group.a, group.unit, group.n);
  if (group.unit == "1") return noise_of_share(mean(group.a), group.n);
  if (group.first_a->record.kind != "train") return std::nullopt;
  if (is_imported(group.first_a->record)) return noise_of_imported(*group.first_a, mean(group.a));
  const auto curve = read_curve(*group.first_a);
  const auto noise = curve ? relative_step_noise(*curve) : std::nullopt;
  if (!noise) return std::nullopt;
  return noise_of_curve(mean(group.a), *noise);
}

bool judged_over_seeds(Gate& gate, const SeedDifference& group) {
  const Record& old = group.first_a->record;
  const std::string& metric = group.metrics.front();
  if (group.all_fixed || group.direction == Direction::kNone) return false;
  if (follows_from_accuracy(old, metric)) return false;
  if (old.kind != "eval") return true;
  if (!has_weights(old) || !has_weights(group.first_b->record)) return false;
  if (is_gated(gate.policy, task_of_metric(metric))) return true;
  if (!group.paired) gate.note(metric, group.group, message("gate.not_declared"));
  return false;
}

void add_seed_test(Gate& gate, const SeedDifference& group) {
  if (!judged_over_seeds(gate, group)) return;
  const std::string metrics = fmt::format("{}", fmt::join(group.metrics, " = "));
  if (group.paired && group.a == group.b) {
    gate.add(metrics, group.group, Verdict::kPass, "identical", message("gate.to_the_last_bit"));
    return;
  }
  SeedTest test;
  test.verdict.metric = metrics;
  test.verdict.where = group.group;
  test.unit = group.unit;
  test.direction = group.direction;
  test.paired = group.paired;
  test.base = group.a;
  test.candidate = group.b;
  test.noise = noise_of(gate, group);
  test.is_training = group.first_a->record.kind == "train";
  test.one_value = group.n == 1;
  test.unexplained = !gate.result.asked_for_another;
  const std::vector<RecordPair>& pairs = gate.comparison.pairs;
  test.like_rounding = test.unexplained && std::ranges::any_of(pairs, &RecordPair::curves_agree) &&
                       std::ranges::none_of(pairs, [](const RecordPair& pair) {
                         return pair.departure.has_value();
                       });
  gate.seeds.push_back(std::move(test));
}

void add_cost_tests(Gate& gate) {
  CostTests costs = cost_tests(gate.comparison);
  for (SeedTest& test : costs.tests) {
    const auto is_first = [&](double value) { return value == test.base.front(); };
    if (test.paired ? test.base == test.candidate
                    : std::ranges::all_of(test.base, is_first) &&
                          std::ranges::all_of(test.candidate, is_first)) {
      gate.add(test.verdict.metric, test.verdict.where, Verdict::kPass, "identical",
               message("gate.to_the_last_bit"));
      continue;
    }
    test.noise =
        noise_of_policy(gate, test.verdict.where, test.verdict.metric, test.unit, test.base);
    if (!test.noise && test.base.size() >= 3) test.noise = noise_of_seeds(test.base, test.unit, 0);
    if (test.one_value) test.noise = noise_of_peak(test.noise, test.base);
    gate.seeds.push_back(std::move(test));
  }
  std::ranges::move(costs.notes, std::back_inserter(gate.result.notes));
}

// Only of the settings of its own runs are a profile's spreads known; that their means agree
// (noise_of_policy) is less. An alert, since a PASS rests on them; the notes have every difference.
void report_other_recipe(Gate& gate) {
  std::vector<std::pair<RecipeDifference, std::vector<std::string>>> found;  // with its nodes
  std::set<std::string> seen;
  for (const SeedDifference& group : gate.comparison.seeds) {
    if (!seen.insert(group.group).second) continue;
    const NoiseRecipe asked = recipe_of(group.first_a->record);
    const auto profile =
        std::ranges::find(gate.policy.noise_recipes, asked.node, &NoiseRecipe::node);
    if (profile == gate.policy.noise_recipes.end()) continue;
    for (RecipeDifference& difference : recipe_differences(*profile, asked)) {
      const auto same =
          std::ranges::find(found, difference, [](const auto& at) { return at.first; });
      if (same == found.end())
        found.push_back({std::move(difference), {asked.node}});
      else
        same->second.push_back(asked.node);
    }
  }
  if (found.empty()) return;
  for (const auto& [difference, nodes] : found)
    gate.result.notes.push_back(message("gate.noise_setting", difference.field, difference.a,
                                        difference.b, fmt::format("{}", fmt::join(nodes, ", "))));
  const auto& [first, nodes] = found.front();
  gate.result.alerts.push_back(
      message("alert.noise", first.field, first.a, first.b,
              found.size() == 1 ? verbatim(nodes.front())
                                : message("alert.and_more", nodes.front(), found.size() - 1)));
}

// Training that departs in its first steps, one verdict a node.
void judge_curves(Gate& gate) {
  std::map<std::string, std::vector<const RecordPair*>> departed;
  for (const RecordPair& pair : gate.comparison.pairs) {
    Record node = pair.a->record;
    node.seed.reset();
    if (pair.departure) departed[describe(node)].push_back(&pair);
    if (pair.curves_agree)
      gate.result.notes.push_back(message("gate.first_steps_agree", describe(pair.a->record)));
    else if (pair.other_start && !pair.departure)
      gate.result.notes.push_back(message("gate.other_start", describe(pair.a->record)));
  }
  for (const auto& [node, pairs] : departed) {
    const Sentence changed =
        message("gate.procedure_changed", departure_sentence(*pairs[0]->departure), pairs.size());
    if (gate.policy.allow_procedure_change)
      gate.result.notes.push_back(message("gate.allowed", node, changed));
    else
      gate.add("", node, Verdict::kSuspicious, "curve", changed);
  }
}

// Seeds that trained the very same weights measure one run, not many.
void judge_identical_seeds(Gate& gate) {
  std::map<std::string, std::vector<const RecordPair*>> nodes;
  for (const RecordPair& pair : gate.comparison.pairs)
    if (pair.a->record.kind == "train" && pair.a->record.seed) {
      Record node = pair.a->record;
      node.seed.reset();
      nodes[describe(node)].push_back(&pair);
    }
  for (const auto& [node, pairs] : nodes) {
    const auto distinct = [&pairs = pairs](const StoredRecord* RecordPair::*side) {
      std::set<std::string> weights;
      for (const RecordPair* pair : pairs) {
        const auto& subject = ((*pair).*side)->record.subject;
        const auto at = subject.find("weights");
        weights.insert(at == subject.end() ? describe(((*pair).*side)->record) : at->second);
      }
      return weights.size();
    };
    if (pairs.size() < 2 || distinct(&RecordPair::b) > 1) continue;
    const Sentence identical = message("gate.identical_seeds", pairs.size());
    if (distinct(&RecordPair::a) > 1)
      gate.add("", node, Verdict::kSuspicious, "seeds", identical);
    else
      gate.result.notes.push_back(message("gate.identical_seeds_too", node, identical));
  }
}

}  // namespace

void judge_retrained(Gate& gate) {
  for (const SeedDifference& group : gate.comparison.seeds) add_seed_test(gate, group);
  add_cost_tests(gate);
  report_other_recipe(gate);
  judge_curves(gate);
  judge_identical_seeds(gate);
}

void drop_single_values(Gate& gate) {
  std::erase_if(gate.seeds, [&](const SeedTest& test) {
    if (!test.one_value || test.verdict.verdict != Verdict::kInconclusive) return false;
    gate.note(test.verdict.metric, test.verdict.where, message("gate.single_step"));
    return true;
  });
}

}  // namespace nb
