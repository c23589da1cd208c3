#include "results/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "results/compare/findings.hpp"
#include "results/gate/gate_collect.hpp"
#include "results/gate/gate_imported.hpp"
#include "results/gate/gate_judge.hpp"
#include "results/gate/gate_scoring.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/rl_work.hpp"
#include "results/text/format.hpp"

namespace nb {

const Metric* deterministic(const Record& record, const std::string& name) {
  for (const Metric& metric : record.metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

bool has_weights(const Record& record) {
  const auto at = record.subject.find("weights");
  return at != record.subject.end() && !at->second.empty();
}

bool is_gated(const GatePolicy& policy, const std::string& task) {
  const auto& tasks = policy.gated_tasks;
  return tasks.empty() || std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

bool follows_from_accuracy(const Record& record, const std::string& metric) {
  if (record.kind != "eval") return false;
  for (std::string task = task_of_metric(metric); !task.empty();) {
    const std::string accuracy = metric::of_task(task, metric::kAccuracy);
    if (metric != accuracy && deterministic(record, accuracy) != nullptr) return true;
    const std::string above = task_of_metric(task);
    task = above == task ? "" : above;
  }
  return false;
}

namespace {

// All files of the records whole on both sides, items, curves, checkpoints? A damaged one is an
// ERROR even where digests in the records agree.
bool files_intact(Gate& gate, const RecordPair& pair) {
  bool intact = true;
  for (const StoredRecord* side : {pair.a, pair.b}) {
    const auto& items = side->record.items;
    for (const auto& [file, digest] : side->record.artifacts) {
      const auto checked = verify_artifact(*side, file);
      if (checked) continue;
      const auto of_task = std::ranges::find(items, file, [](const auto& at) { return at.second; });
      gate.add(of_task == items.end() ? "" : of_task->first, describe(side->record),
               Verdict::kError, "record",
               side == pair.a ? message("gate.of_baseline", checked.error().message)
                              : message("gate.of_candidate", checked.error().message));
      intact = false;
    }
  }
  return intact;
}

// Fixed checkpoint: the answers of one task. Finished by judge_items and judge_scoring.
void add_item_test(Gate& gate, const RecordPair& pair, const Metric& a, const Metric& b,
                   const ItemComparison& items) {
  const std::string where = describe(pair.a->record);
  if (items.identical) {
    gate.add(a.name, where, Verdict::kPass, "identical", message("gate.identical_answers"));
    return;
  }
  if (!items.error.empty()) {
    gate.add(a.name, where, Verdict::kError, "record", verbatim(items.error));
    return;
  }
  if (std::fabs(items.unscored_a - items.unscored_b) > kErrorShareLimit) {
    gate.add(a.name, where, Verdict::kError, "record",
             message("gate.unscored", fmt::format("{:.1f}", 100 * items.unscored_b),
                     fmt::format("{:.1f}", 100 * items.unscored_a)));
    return;
  }
  ItemTest test;
  test.task = items.task;
  test.counts = items.counts;
  test.verdict.metric = a.name;
  test.verdict.where = where;
  test.verdict.a = a.value;
  test.verdict.b = b.value;
  Record node = pair.a->record;
  node.seed.reset();
  test.node = describe(node);
  gate.items.push_back(std::move(test));
  const auto at =
      std::find_if(gate.scoring.begin(), gate.scoring.end(), [&](const ScoringTest& one) {
        return one.verdict.metric == items.task && one.verdict.where == describe(node);
      });
  ScoringTest& pooled = at != gate.scoring.end() ? *at : gate.scoring.emplace_back();
  pooled.verdict.metric = items.task;
  pooled.verdict.where = describe(node);
  pooled.counts.both += items.counts.both;
  pooled.counts.only_a += items.counts.only_a;
  pooled.counts.only_b += items.counts.only_b;
  pooled.counts.neither += items.counts.neither;
  pooled.has_choices = pooled.has_choices || items.has_choices;
  pooled.texts += items.texts;
  pooled.changed_texts += items.changed_texts;
  pooled.early_texts += items.early_texts;
  pooled.margins.append(items.margins);
}

// What comes before any test of values: presence, nulls, clocks. False: judged or nothing to judge.
bool judgeable(Gate& gate, const std::string& where, const Metric& a, const Metric* b) {
  if (b == nullptr) {
    gate.add(
        a.name, where, a.value ? Verdict::kError : Verdict::kPass, "record",
        a.value ? message("gate.no_such_metric") : message("gate.not_measured", a.reason_if_null));
    return false;
  }
  if (a.clock != b->clock || a.unit != b->unit || a.direction != b->direction) {
    gate.add(a.name, where, Verdict::kIncomparable, "record",
             message("gate.quantities_differ", name(a.clock), a.unit, name(a.direction),
                     name(b->clock), b->unit, name(b->direction)));
    return false;
  }
  if (a.value && !b->value) {
    gate.add(a.name, where, Verdict::kError, "record",
             message("gate.cannot_measure", b->reason_if_null));
    return false;
  }
  if (!a.value) {
    gate.note(a.name, where, message("gate.not_in_baseline", a.reason_if_null));
    return false;
  }
  return true;
}

Sentence equal_behind(const RecordPair& pair, const std::string& metric) {
  const auto row = std::ranges::find(pair.metrics, metric, &MetricDifference::name);
  return row == pair.metrics.end() ? Sentence() : row->other_metric;
}

// A fixed question with a known answer (evals/probes): no noise, no margin.
void judge_probe(Gate& gate, const std::string& where, const Metric& a, const Metric& b) {
  TaskVerdict v;
  v.metric = a.name;
  v.where = where;
  v.test = "exact";
  v.a = a.value;
  v.b = b.value;
  v.difference = *b.value - *a.value;
  v.margin = 0;
  const auto right = [](const Metric& m) {
    return std::lround(*m.value * static_cast<double>(m.n));
  };
  if (*a.value == *b.value) {
    v.verdict = Verdict::kPass;
    v.reason = message("gate.equal");
  } else if (a.direction != Direction::kHigher) {
    v.verdict = Verdict::kSuspicious;
    v.reason =
        message("gate.probe_differs", value_text(*a.value, a.unit), value_text(*b.value, b.unit));
  } else {
    const bool is_worse = *b.value < *a.value;
    v.verdict = is_worse ? Verdict::kRegressed : Verdict::kImproved;
    v.reason = is_worse ? message("gate.probe_worse", right(a), right(b), b.n)
                        : message("gate.probe_better", right(a), right(b), b.n);
  }
  gate.result.verdicts.push_back(std::move(v));
}

// One metric of one pair. Values of retrained models are judged over seeds, later.
void judge_metric(Gate& gate, const RecordPair& pair, const Metric& a) {
  const Record &old = pair.a->record, &fresh = pair.b->record;
  const Metric* b = deterministic(fresh, a.name);
  const bool is_eval = old.kind == "eval";
  const std::string task = is_eval ? task_of_metric(a.name) : "";
  const std::string where = describe(old);
  if (old.kind == "probe") {
    if (Sentence reason = incomparable_because(old, fresh); !reason.empty())
      gate.add(a.name, where, Verdict::kIncomparable, "record", std::move(reason));
    else if (judgeable(gate, where, a, b))
      judge_probe(gate, where, a, *b);
    return;
  }
  if (const Sentence equal = equal_behind(pair, a.name); b != nullptr && !equal.empty()) {
    gate.add(a.name, where, Verdict::kIncomparable, "identical",
             message("gate.metric_changed", equal, value_text(*a.value, a.unit),
                     value_text(*b->value, a.unit)));
    return;
  }
  if (follows_from_accuracy(old, a.name)) return;
  if (Sentence reason = incomparable_because(old, fresh, task); !reason.empty()) {
    gate.add(a.name, where, Verdict::kIncomparable, "record", std::move(reason));
    return;
  }
  if (b == nullptr && is_eval && deterministic(fresh, "mw/" + a.name) != nullptr) {
    gate.add(a.name, where, Verdict::kIncomparable, "record", message("gate.generated_only", task));
    return;
  }
  if (!judgeable(gate, where, a, b)) return;
  if (a.clock == Clock::kSim) {
    if (wrote_otherwise(old, fresh)) return;  // add_cost_tests
    TaskVerdict v;
    v.metric = a.name;
    v.where = where;
    judge_exact(v, *a.value, *b->value, a.direction, a.unit);
    gate.result.verdicts.push_back(std::move(v));
    return;
  }
  if (is_eval && !is_gated(gate.policy, task)) {
    gate.note(a.name, where, message("gate.not_declared_shown"));
    return;
  }
  const auto items = std::find_if(pair.items.begin(), pair.items.end(),
                                  [&](const auto& one) { return one.task == task; });
  const bool equal = *a.value == *b->value;
  const bool has_items = is_eval && pair.fixed_weights && items != pair.items.end();
  if (has_items && a.name == metric::of_task(task, metric::kAccuracy)) {
    add_item_test(gate, pair, a, *b, *items);
  } else if (equal && pair.fixed_weights) {
    gate.add(a.name, where, Verdict::kPass, "identical", message("gate.to_the_last_bit"));
  } else if (has_items) {  // bits per byte: items without right and wrong
    gate.note(a.name, where,
              message("gate.chance_unknown", value_text(*a.value, a.unit),
                      value_text(*b->value, a.unit)));
  } else if (pair.fixed_weights) {
    gate.note(a.name, where, message("gate.by_its_tasks"));
  } else if (is_eval && (!has_weights(old) || !has_weights(fresh))) {
    gate.add(a.name, where, Verdict::kIncomparable, "record", message("gate.no_weights"));
  } else if (a.direction == Direction::kNone && !equal) {
    gate.note(a.name, where, message("gate.no_direction"));
  }
}

// imported: takes the pairs that are judged together, later.
void judge_pair(Gate& gate, const RecordPair& pair, std::vector<const RecordPair*>& imported) {
  const Record &old = pair.a->record, &fresh = pair.b->record;
  const std::string where = describe(old);
  if (!pair.note.empty()) gate.result.notes.push_back(pair.note);
  const bool has_both = old.status == "ok" && fresh.status == "ok";
  if (!has_both && !pair.incomparable.empty())
    return gate.add("", where, Verdict::kIncomparable, "record", pair.incomparable);
  if (old.status != "ok")
    return gate.add("", where, Verdict::kError, "record",
                    message("gate.baseline_failed", old.error));
  if (fresh.status != "ok")
    return gate.add("", where, Verdict::kError, "record",
                    message("gate.candidate_failed", fresh.error));
  if (!files_intact(gate, pair)) return;
  if (pair.imported) {
    judge_curves_of(gate, pair);
    return imported.push_back(&pair);
  }
  if (pair.bit_identical)
    return gate.add("", where, Verdict::kPass, "identical", message("gate.bit_identical"));
  if (!pair.incomparable.empty())
    return gate.add("", where, Verdict::kIncomparable, "record", pair.incomparable);
  if (pair.same_key)
    gate.add("", where, Verdict::kError, "record",
             message("gate.other_bits", first_difference(old, fresh)));
  if (!pair.curve_error.empty())
    gate.add("", where, Verdict::kError, "record", verbatim(pair.curve_error));
  const std::size_t before = gate.judged();
  for (const Metric& metric : old.metrics) judge_metric(gate, pair, metric);
  const bool over_seeds = !pair.fixed_weights && (old.kind == "train" || old.kind == "eval");
  if (before == gate.judged() && !over_seeds)
    gate.result.notes.push_back(
        message("gate.nothing_judged", where, first_difference(old, fresh)));
}

void judge_unmatched(Gate& gate, const UnmatchedSeeds& nodes) {
  const Record& first = nodes.a[0]->record;
  Record node = first;
  node.seed.reset();
  for (const auto* side : {&nodes.a, &nodes.b})
    for (const StoredRecord* stored : *side)
      if (stored->record.status != "ok")
        gate.add("", describe(stored->record), Verdict::kError, "record",
                 message("gate.node_failed", stored->record.error));
  for (const StoredRecord* stored : nodes.b)
    if (Sentence reason = incomparable_because(first, stored->record); !reason.empty())
      return gate.add("", describe(node), Verdict::kIncomparable, "record", std::move(reason));
  const bool same_work = std::ranges::none_of(nodes.b, [&](const StoredRecord* stored) {
    return wrote_otherwise(first, stored->record);  // else add_cost_tests
  });
  for (const Metric& metric : first.metrics) {
    if (metric.clock != Clock::kSim || !metric.value || !same_work) continue;
    for (const StoredRecord* stored : nodes.b) {
      const Metric* other = deterministic(stored->record, metric.name);
      if (other == nullptr || !other->value) continue;
      TaskVerdict v;
      v.metric = metric.name;
      v.where = describe(node);
      judge_exact(v, *metric.value, *other->value, metric.direction, metric.unit);
      gate.result.verdicts.push_back(std::move(v));
      break;  // equal for all seeds, or another verdict of the first is enough
    }
  }
  gate.result.notes.push_back(
      message("gate.independent_groups", describe(node), nodes.a.size(), nodes.b.size()));
}

void settle(Gate& gate, const GateOptions& options) {
  judge_items(gate.items, gate.policy);
  judge_scoring(gate.scoring, gate.policy);
  judge_seeds(gate.seeds, gate.policy);
  drop_single_values(gate);
  GateResult& result = gate.result;
  for (auto& test : gate.items) result.verdicts.push_back(std::move(test.verdict));
  for (auto& test : gate.scoring) result.verdicts.push_back(std::move(test.verdict));
  for (auto& test : gate.seeds) result.verdicts.push_back(std::move(test.verdict));
  settle_night(result, options);
}

// The tasks of evaluations of either side.
std::set<std::string> tasks_of(const Comparison& comparison) {
  std::set<std::string> tasks;
  const auto add = [&](const StoredRecord* stored) {
    if (stored->record.kind != "eval") return;
    for (const Metric& metric : stored->record.metrics) tasks.insert(task_of_metric(metric.name));
  };
  for (const RecordPair& pair : comparison.pairs) {
    add(pair.a);
    add(pair.b);
  }
  for (const auto* side : {&comparison.only_a, &comparison.only_b})
    for (const StoredRecord* stored : *side) add(stored);
  for (const UnmatchedSeeds& nodes : comparison.unmatched) {
    for (const StoredRecord* stored : nodes.a) add(stored);
    for (const StoredRecord* stored : nodes.b) add(stored);
  }
  return tasks;
}

// One note a node that ended well, with its seeds.
void add_new_nodes(const Comparison& comparison, std::vector<Sentence>& notes) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> nodes;
  for (const StoredRecord* stored : comparison.only_b) {
    if (stored->record.status != "ok") continue;
    Record node = stored->record;
    node.seed.reset();
    auto at = std::ranges::find(nodes, describe(node), [](const auto& seen) { return seen.first; });
    if (at == nodes.end()) at = nodes.insert(at, {describe(node), {}});
    if (stored->record.seed) at->second.push_back(*stored->record.seed);
  }
  for (const auto& [node, seeds] : nodes) {
    const bool is_range = seeds.size() > 2 && std::ranges::is_sorted(seeds) &&
                          seeds.back() - seeds.front() == std::ssize(seeds) - 1;
    std::string those;
    if (is_range)
      those = fmt::format(", seeds {} to {}", seeds.front(), seeds.back());
    else if (!seeds.empty())
      those = fmt::format(", seed{} {}", seeds.size() > 1 ? "s" : "", fmt::join(seeds, ", "));
    notes.push_back(message("gate.new", node + those));
  }
}

// Two sides that have records, and none of one is one of the other: two things, not a lost one.
bool nothing_pairs(const Comparison& comparison) {
  return comparison.pairs.empty() && comparison.unmatched.empty() && !comparison.only_a.empty() &&
         !comparison.only_b.empty();
}

Sentence names_of(const std::vector<const StoredRecord*>& records) {
  std::vector<std::string> names;
  for (const StoredRecord* stored : records) names.push_back(describe(stored->record));
  return listed(std::move(names), 3);
}

}  // namespace

GateResult gate(const Comparison& comparison, const GatePolicy& policy,
                const GateOptions& options) {
  Gate gate{comparison, policy, {}, {}, {}, {}};
  for (const std::string& damage : comparison.damaged_a)
    gate.add("", "baseline record", Verdict::kError, "record", verbatim(damage));
  for (const std::string& damage : comparison.damaged_b)
    gate.add("", "candidate record", Verdict::kError, "record", verbatim(damage));
  if (comparison.pairs.empty() && comparison.unmatched.empty() && comparison.only_a.empty())
    gate.add("", "baseline", Verdict::kError, "record",
             message("gate.no_records", comparison.label_a));
  gate.result.asked_for_another =
      std::ranges::any_of(comparison.confounders, [](const Confounder& confounder) {
        return confounder.category == "settings" || confounder.category == "data";
      });
  std::vector<const RecordPair*> imported;
  for (const RecordPair& pair : comparison.pairs) judge_pair(gate, pair, imported);
  ImportedVerdicts judged = judge_imported(imported, policy);
  std::ranges::move(judged.verdicts, std::back_inserter(gate.result.verdicts));
  std::ranges::move(judged.notes, std::back_inserter(gate.result.notes));
  for (const UnmatchedSeeds& nodes : comparison.unmatched) judge_unmatched(gate, nodes);
  if (nothing_pairs(comparison))
    gate.add(
        "", comparison.label_a, Verdict::kIncomparable, "record",
        message("gate.nothing_pairs", names_of(comparison.only_a), names_of(comparison.only_b)));
  else
    for (const StoredRecord* stored : comparison.only_a)
      gate.add("", describe(stored->record), Verdict::kError, "record",
               message("gate.no_such_record"));
  judge_retrained(gate);
  const auto tasks = tasks_of(comparison);
  for (const std::string& task : policy.gated_tasks)
    if (!tasks.contains(task))
      gate.add("", "policy", Verdict::kError, "record", message("gate.no_such_task", task));
  for (const StoredRecord* stored : comparison.only_b)
    if (stored->record.status != "ok")
      gate.add("", describe(stored->record), Verdict::kError, "record",
               message("gate.node_failed", stored->record.error));
  add_new_nodes(comparison, gate.result.notes);
  std::ranges::copy(comparison.skipped, std::back_inserter(gate.result.notes));
  gate.result.findings = comparison.findings;
  gate.result.likely_cause = comparison.likely_cause();
  settle(gate, options);
  return std::move(gate.result);
}

GateResult gate(const RunRecords& base, const RunRecords& candidate, const GatePolicy& policy,
                const GateOptions& options) {
  return gate(compare_runs(base, candidate), policy, options);
}

}  // namespace nb
