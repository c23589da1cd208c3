#include "results/gate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "results/gate_judge.hpp"
#include "results/items.hpp"
#include "results/metric_names.hpp"

namespace nb {
namespace {

constexpr double kErrorShareLimit =
    0.005;  // statistics.md §6: more unscored items on one side is an ERROR

// Worst first, in the order of exit codes 1, 4, 3, 2, 0 (design.md §8).
constexpr std::array kWorstFirst = {
    Verdict::kRegressed,    Verdict::kSuspicious, Verdict::kError, Verdict::kIncomparable,
    Verdict::kInconclusive, Verdict::kImproved,   Verdict::kPass};

std::size_t rank(Verdict verdict) {
  return static_cast<std::size_t>(std::find(kWorstFirst.begin(), kWorstFirst.end(), verdict) -
                                  kWorstFirst.begin());
}

struct Gate {
  const GatePolicy& policy;
  GateResult result;
  std::vector<ItemTest> items;
  // Seeds of one metric of one group of records, in the order met.
  std::vector<SeedTest> seeds;
  std::map<std::string, std::size_t> seed_group;

  void add(const std::string& task, Verdict verdict, const std::string& test,
           const std::string& reason) {
    TaskVerdict v;
    v.task = task;
    v.verdict = verdict;
    v.test = test;
    v.reason = reason;
    result.verdicts.push_back(std::move(v));
  }
};

std::string label(const std::string& metric, const Record& record) {
  return metric + " of " + describe(record);
}

std::string weights_of(const Record& record) {
  const auto at = record.subject.find("weights");
  return at == record.subject.end() ? std::string() : at->second;
}

const Metric* deterministic(const Record& record, const std::string& name) {
  for (const Metric& metric : record.metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

// Items files whole on both sides? A damaged one is an ERROR even where digests in the records
// agree.
bool items_intact(Gate& gate, const StoredRecord& base, const StoredRecord& candidate) {
  bool intact = true;
  for (const StoredRecord* side : {&base, &candidate})
    for (const auto& [task, file] : side->record.items)
      if (const auto checked = verify_artifact(*side, file); !checked) {
        gate.add(label(task, side->record), Verdict::kError, "record",
                 (side == &base ? "baseline: " : "candidate: ") + checked.error().message);
        intact = false;
      }
  return intact;
}

Result<double> error_share(const StoredRecord& stored, const std::string& task) {
  NB_TRY(const auto list, read_items(stored.folder / stored.record.items.at(task)));
  const auto failed = std::count_if(list.begin(), list.end(),
                                    [](const ItemRecord& item) { return !item.reason.empty(); });
  return static_cast<double>(failed) / static_cast<double>(list.size());
}

// Fixed checkpoint: the answers of one task. Finished by judge_items.
void add_item_test(Gate& gate, const StoredRecord& base, const StoredRecord& candidate,
                   const Metric& a, const Metric& b, const std::string& task) {
  const std::string where = label(a.name, base.record);
  const Record &old = base.record, &fresh = candidate.record;
  if (old.artifacts.at(old.items.at(task)) == fresh.artifacts.at(fresh.items.at(task))) {
    const bool same = *a.value == *b.value;
    gate.add(where, same ? Verdict::kPass : Verdict::kIncomparable, "identical",
             same ? "bit-identical answers"
                  : "the same answers, another score: the metric itself changed");
    return;
  }
  const auto counts = pair_items(base, candidate, task);
  const auto errors_a = error_share(base, task), errors_b = error_share(candidate, task);
  if (!counts || !errors_a || !errors_b) {
    gate.add(where, Verdict::kError, "record",
             !counts ? counts.error().message
                     : (!errors_a ? errors_a.error() : errors_b.error()).message);
    return;
  }
  if (std::fabs(*errors_a - *errors_b) > kErrorShareLimit) {
    gate.add(
        where, Verdict::kError, "record",
        fmt::format(
            "{:.1f} % of the items could not be scored, {:.1f} % in the baseline; find out why "
            "before judging scores",
            100 * *errors_b, 100 * *errors_a));
    return;
  }
  ItemTest test;
  test.task = task;
  test.counts = *counts;
  test.verdict.task = where;
  test.verdict.a = a.value;
  test.verdict.b = b.value;
  gate.items.push_back(std::move(test));
}

void add_seed(Gate& gate, const Record& record, const Metric& a, const Metric& b) {
  Record group = record;
  group.seed.reset();
  const std::string where = label(a.name, group);
  const auto [at, fresh] = gate.seed_group.emplace(where, gate.seeds.size());
  if (fresh) {
    SeedTest test;
    test.verdict.task = where;
    test.unit = a.unit;
    test.direction = a.direction;
    gate.seeds.push_back(std::move(test));
  }
  gate.seeds[at->second].base.push_back(*a.value);
  gate.seeds[at->second].candidate.push_back(*b.value);
}

// What comes before any test of values: presence, nulls, clocks. False: judged or nothing to judge.
bool judgeable(Gate& gate, const Record& base, const Metric& a, const Metric* b) {
  const std::string where = label(a.name, base);
  if (b == nullptr) {
    gate.add(
        where, a.value ? Verdict::kError : Verdict::kPass, "record",
        a.value ? "the candidate does not have this metric" : "not measured: " + a.reason_if_null);
    return false;
  }
  if (a.clock != b->clock || a.unit != b->unit || a.direction != b->direction) {
    gate.add(where, Verdict::kIncomparable, "record",
             fmt::format("clock, unit or direction differ: {} {} {} and {} {} {}", name(a.clock),
                         a.unit, name(a.direction), name(b->clock), b->unit, name(b->direction)));
    return false;
  }
  if (a.value && !b->value) {
    gate.add(where, Verdict::kError, "record",
             "the candidate could not measure it: " + b->reason_if_null);
    return false;
  }
  if (!a.value) {
    gate.result.notes.push_back(
        fmt::format("{}: not judged, not measured in the baseline: {}", where, a.reason_if_null));
    return false;
  }
  return true;
}

void judge_metric(Gate& gate, const StoredRecord& base, const StoredRecord& candidate,
                  const Metric& a) {
  const Record &old = base.record, &fresh = candidate.record;
  const Metric* b = deterministic(fresh, a.name);
  const bool is_eval = old.kind == "eval";
  const std::string task = is_eval ? task_of_metric(a.name) : "";
  const std::string where = label(a.name, old);
  const std::string accuracy = metric::of_task(task, metric::kAccuracy);
  if (is_eval && a.name != accuracy && deterministic(old, accuracy) != nullptr)
    return;  // centred and the like follow from the same answers: one check a task
  if (const std::string reason = incomparable_because(old, fresh, task); !reason.empty()) {
    gate.add(where, Verdict::kIncomparable, "record", reason);
    return;
  }
  if (b == nullptr && is_eval && deterministic(fresh, "mw/" + a.name) != nullptr) {
    gate.add(where, Verdict::kIncomparable, "record",
             "the candidate has only mw/" + task + ": a generated task is not the real one");
    return;
  }
  if (!judgeable(gate, old, a, b)) return;
  if (a.clock == Clock::kSim) {
    TaskVerdict v;
    v.task = where;
    judge_exact(v, *a.value, *b->value, a.direction, a.unit);
    gate.result.verdicts.push_back(std::move(v));
    return;
  }
  const auto& gated = gate.policy.gated_tasks;
  if (is_eval && !gated.empty() && std::find(gated.begin(), gated.end(), task) == gated.end()) {
    gate.result.notes.push_back(where + ": not in the declared family, shown but not judged");
    return;
  }
  const bool fixed = is_eval && !weights_of(old).empty() && weights_of(old) == weights_of(fresh);
  const bool has_items = old.items.contains(task) && fresh.items.contains(task);
  if (fixed && has_items && a.name == accuracy) {
    add_item_test(gate, base, candidate, a, *b, task);
    return;
  }
  if (*a.value == *b->value && (fixed || !is_eval)) {
    gate.add(where, Verdict::kPass, "identical", "equal to the last bit");
    return;
  }
  if (fixed) {
    gate.result.notes.push_back(where + ": changed with its tasks, judged by them");
    return;
  }
  if (is_eval && (weights_of(old).empty() || weights_of(fresh).empty())) {
    gate.add(where, Verdict::kIncomparable, "record",
             "/subject/weights is missing: fixed checkpoint or retrained model?");
    return;
  }
  if (a.direction == Direction::kNone) {
    gate.result.notes.push_back(where + ": changed; neither way is better, not judged");
    return;
  }
  add_seed(gate, old, a, *b);
}

void judge_pair(Gate& gate, const StoredRecord& base, const StoredRecord& candidate) {
  const Record &old = base.record, &fresh = candidate.record;
  const std::string where = describe(old);
  if (old.status != "ok")
    return gate.add(where, Verdict::kError, "record", "the baseline's node failed: " + old.error);
  if (fresh.status != "ok")
    return gate.add(where, Verdict::kError, "record",
                    "the candidate's node failed: " + fresh.error);
  if (!items_intact(gate, base, candidate)) return;
  if (same_results(old, fresh))
    return gate.add(where, Verdict::kPass, "identical", "bit-identical");
  if (const std::string reason = incomparable_because(old, fresh); !reason.empty())
    return gate.add(where, Verdict::kIncomparable, "record", reason);
  const std::size_t before = gate.result.verdicts.size() + gate.items.size() + gate.seeds.size();
  for (const Metric& metric : old.metrics) judge_metric(gate, base, candidate, metric);
  if (before == gate.result.verdicts.size() + gate.items.size() + gate.seeds.size())
    gate.result.notes.push_back(where + ": differs (" + first_difference(old, fresh) +
                                "), nothing in it is judged");
}

bool same_node(const Record& a, const Record& b) {
  return std::tie(a.kind, a.name, a.trained_on, a.device, a.seed) ==
         std::tie(b.kind, b.name, b.trained_on, b.device, b.seed);
}

void settle(Gate& gate, const GateOptions& options) {
  judge_items(gate.items, gate.policy);
  judge_seeds(gate.seeds, gate.policy);
  GateResult& result = gate.result;
  for (auto& test : gate.items) result.verdicts.push_back(std::move(test.verdict));
  for (auto& test : gate.seeds) result.verdicts.push_back(std::move(test.verdict));
  std::stable_sort(result.verdicts.begin(), result.verdicts.end(),
                   [](const auto& a, const auto& b) { return rank(a.verdict) < rank(b.verdict); });
  for (const TaskVerdict& v : result.verdicts) result.uncalibrated |= v.uncalibrated;
  result.night = result.verdicts.empty() ? Verdict::kError : result.verdicts.front().verdict;
  switch (result.night) {
    case Verdict::kRegressed:
    case Verdict::kSuspicious:
      result.exit_code = 1;
      break;
    case Verdict::kError:
      result.exit_code = 4;
      break;
    case Verdict::kIncomparable:
      result.exit_code = 3;
      break;
    case Verdict::kInconclusive:
      result.exit_code = options.strict ? 2 : 0;
      break;
    case Verdict::kImproved:
    case Verdict::kPass:
      result.exit_code = 0;
      break;
  }
}

}  // namespace

FieldList GatePolicy::fields() {
  return {
      {"alpha", "family-wise error of red verdicts (Holm)", &alpha, {.min = 1e-6, .max = 0.5}},
      {"min_seeds",
       "fewest seeds a side for verdicts on retrained models",
       &min_seeds,
       {.min = 2, .max = 1000}},
      {"bpb_floor",
       "smallest difference of a loss that can be red",
       &bpb_floor,
       {.unit = "bit/byte", .min = 0}},
      {"exact_test", "exact McNemar test instead of mid-p", &exact_test},
      {"gated_tasks", "declared family of tasks; empty: all", &gated_tasks},
      {"margins", "task → margin, instead of the formula", &margins, {.min = 0, .max = 1}},
      {"card_discordance",
       "noise card: task → share of answers that flip between healthy runs",
       &card_discordance,
       {.min = 0, .max = 1}},
  };
}

namespace {

bool has_task(const RunRecords& run, const std::string& task) {
  return std::any_of(run.records.begin(), run.records.end(), [&](const StoredRecord& stored) {
    const auto& metrics = stored.record.metrics;
    return stored.record.kind == "eval" &&
           std::any_of(metrics.begin(), metrics.end(),
                       [&](const Metric& m) { return task_of_metric(m.name) == task; });
  });
}

}  // namespace

GateResult gate(const RunRecords& base, const RunRecords& candidate, const GatePolicy& policy,
                const GateOptions& options) {
  Gate gate{policy, {}, {}, {}, {}};
  for (const std::string& message : base.damaged)
    gate.add("baseline record", Verdict::kError, "record", message);
  for (const std::string& message : candidate.damaged)
    gate.add("candidate record", Verdict::kError, "record", message);
  if (base.records.empty())
    gate.add("baseline", Verdict::kError, "record",
             base.path.string() + ": has no records to hold against");
  for (const StoredRecord& old : base.records) {
    const auto fresh =
        std::find_if(candidate.records.begin(), candidate.records.end(),
                     [&](const auto& other) { return same_node(old.record, other.record); });
    if (fresh == candidate.records.end())
      gate.add(describe(old.record), Verdict::kError, "record", "the candidate has no such record");
    else
      judge_pair(gate, old, *fresh);
  }
  for (const std::string& task : policy.gated_tasks)
    if (!has_task(base, task) && !has_task(candidate, task))
      gate.add("policy", Verdict::kError, "record",
               "gated_tasks: neither run has the task " + task);
  for (const StoredRecord& fresh : candidate.records)
    if (std::none_of(base.records.begin(), base.records.end(),
                     [&](const auto& old) { return same_node(old.record, fresh.record); }))
      gate.result.notes.push_back("new, no baseline: " + describe(fresh.record));
  settle(gate, options);
  return std::move(gate.result);
}

}  // namespace nb
