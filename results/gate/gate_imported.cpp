#include "results/gate/gate_imported.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "results/compare/gross_change.hpp"
#include "results/compare/imported_rows.hpp"
#include "results/gate/gate_collect.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

struct Row {
  const RecordPair& pair;
  const MetricDifference& difference;
  const ItemComparison* items;  // nullptr: totals
  ScoreFamily family;
  std::optional<double> worse_holm = {}, better_holm = {};
};

// The largest loss that still passes, in the metric's unit, and why it is that wide.
struct Margin {
  double value = 0;
  Sentence note;
};

// One point of 100 for shares (as for our own scores), and what is alike for other scales.
double smallest_margin(const MetricDifference& row) {
  if (row.is_share || row.unit == "1" || row.unit == "error ratio") return 0.01;
  if (row.unit == "point") return 1;
  if (row.unit == "nat" || row.unit == "bit/byte") return 0.005;
  return 0.01 * std::fabs(*row.a);
}

Margin margin_of(const GatePolicy& policy, const MetricDifference& row) {
  const std::string task = task_of_metric(row.name);
  for (const std::string& key : {row.name, task})
    if (const auto at = policy.margins.find(key); at != policy.margins.end())
      return {at->second, {}};
  const double least = smallest_margin(row);
  if (!row.is_share && !row.counts) return {least, {}};
  const auto profile = policy.noise_discordance.find(task);
  const double discordance = profile == policy.noise_discordance.end() ? 0 : profile->second;
  if (row.n <= 0) return {least, message("imported.no_n")};
  // Half of the scale at most: of ten items a margin of 6/n would pass anything.
  return {std::min(accuracy_margin(row.n, discordance), 0.5), {}};
}

bool is_gated(const GatePolicy& policy, const MetricDifference& row) {
  const auto& tasks = policy.gated_tasks;
  return tasks.empty() || std::find(tasks.begin(), tasks.end(), row.name) != tasks.end() ||
         std::find(tasks.begin(), tasks.end(), task_of_metric(row.name)) != tasks.end();
}

// Of the baseline alone.
bool is_gone(const MetricDifference& row) { return row.a && row.is_only_in(FoundIn::kA); }

// What comes before any test; empty: nothing does. Sets the verdict.
Sentence refusal(const Row& row, Verdict& verdict) {
  verdict = Verdict::kIncomparable;
  if (row.difference.incomparable) return row.difference.note;
  if (!row.difference.contradiction.empty()) return row.difference.contradiction;
  if (row.items == nullptr) {
    if (row.difference.difference) return {};
    verdict = Verdict::kError;
    return is_gone(row.difference) ? message("gate.no_such_score") : row.difference.note;
  }
  const ItemComparison& items = *row.items;
  if (!items.error.empty()) {
    verdict = Verdict::kError;
    return verbatim(items.error);
  }
  const std::int64_t n = items.counts.n();
  if (n == 0) return message("imported.no_common_item");
  if (items.golds_differ > 0) return message("imported.golds", items.golds_differ, n);
  if (items.prompts_differ > 0) return message("imported.prompts", items.prompts_differ, n);
  verdict = Verdict::kError;
  if (items.only_a > 0)
    return message("imported.lacks", items.only_a, n + items.only_a,
                   fmt::format("{}", fmt::join(items.unpaired, ", ")));
  if (std::fabs(items.unscored_a - items.unscored_b) > kErrorShareLimit)
    return message("gate.unscored", fmt::format("{:.1f}", 100 * items.unscored_b),
                   fmt::format("{:.1f}", 100 * items.unscored_a));
  return {};
}

Sentence evidence_of(const TaskVerdict& v, const MetricDifference& row) {
  if (row.counts)
    return message("imported.items", row.counts->only_a, row.counts->n(), row.counts->only_b,
                   fmt::format("{:+.2f}", 100 * *row.difference),
                   fmt::format("{:.2f}", 100 * *v.margin), p_text(*v.p_worse_holm));
  return message("imported.totals", signed_text(*row.difference, row.unit), row.method,
                 rounded_value(*v.margin, row.unit), p_text(*v.p_worse_holm));
}

// A difference whose chance is known.
void judge_chance(TaskVerdict& v, const Row& row, const GatePolicy& policy, double alpha) {
  const MetricDifference& d = row.difference;
  const double sign = d.direction == Direction::kLower ? -1 : 1;
  const double better = sign * *d.difference;
  const Margin margin = margin_of(policy, d);
  v.counts = d.counts;
  v.interval95 = d.interval95;
  v.p_worse = p_worse_of(d, policy.exact_test);
  v.p_worse_holm = row.worse_holm;
  v.p_better_holm = row.better_holm;
  v.margin = margin.value;
  v.min_detectable = d.min_detectable;
  v.low90 = better;
  if (d.interval90) v.low90 = sign > 0 ? d.interval90->low : -d.interval90->high;
  v.uncalibrated = !policy.noise_discordance.contains(task_of_metric(d.name));
  const Sentence evidence = evidence_of(v, d);
  const auto with_note = [&](Sentence reason) {
    append(reason, margin.note);
    return reason;
  };
  if (*v.p_worse_holm <= alpha && better <= -margin.value / 2) {
    v.verdict = Verdict::kRegressed;
    v.reason = with_note(evidence);
  } else if (d.shown == Shown::kWorse || *v.p_worse_holm <= alpha) {
    v.verdict = Verdict::kInconclusive;
    v.reason = with_note(message("imported.worse_little", evidence));
  } else if (d.shown == Shown::kBetter && *v.p_better_holm <= alpha) {
    v.verdict = Verdict::kImproved;
    v.reason = with_note(joined("join.semicolon", {evidence, message("gate.accept")}));
  } else if (*v.low90 > -margin.value || (*d.difference == 0 && row.items == nullptr)) {
    v.verdict = Verdict::kPass;
    v.reason = *d.difference == 0 ? message("imported.equal_totals")
                                  : with_note(message("imported.not_worse", evidence));
  } else {
    v.verdict = Verdict::kInconclusive;
    v.reason =
        with_note(message("imported.detectable", evidence,
                          d.min_detectable ? rounded_value(*d.min_detectable, d.unit) : "—"));
  }
}

// An expectation's own limit.
void judge_tolerance(TaskVerdict& v, const MetricDifference& d) {
  const double sign = d.direction == Direction::kLower ? -1 : 1;
  v.margin = d.tolerance;
  v.interval95 = d.interval95;
  const bool is_within = sign * *d.difference >= -*d.tolerance;
  v.verdict = is_within ? Verdict::kPass : Verdict::kRegressed;
  const std::string change = signed_text(*d.difference, d.unit);
  const std::string limit = rounded_value(*d.tolerance, d.unit);
  v.reason = is_within ? message("imported.within_own", change, limit)
                       : message("imported.beyond_own", change, limit);
}

// Totals without items or standard errors.
void judge_gross(TaskVerdict& v, const MetricDifference& d) {
  const double sign = d.direction == Direction::kLower ? -1 : 1;
  const auto gross = gross_change(*d.a, *d.b, d.unit, d.is_share);
  const Sentence change = message("imported.change", value_text(*d.a, d.unit),
                                  value_text(*d.b, d.unit), signed_text(*d.difference, d.unit));
  if (*d.difference == 0) {
    v.verdict = Verdict::kPass;
    v.reason = message("imported.equal_totals");
  } else if (d.gross.empty()) {
    v.verdict = Verdict::kInconclusive;
    v.reason = gross ? message("imported.open_within", change, gross->bound)
                     : message("imported.open", change);
  } else {
    const bool is_worse = sign * *d.difference < 0;
    v.verdict = is_worse ? Verdict::kRegressed : Verdict::kImproved;
    v.reason = message("imported.gross", change, d.gross);
  }
}

TaskVerdict judged(const Row& row, const GatePolicy& policy, double alpha) {
  const MetricDifference& d = row.difference;
  TaskVerdict v;
  v.metric = d.name;
  v.where = describe(row.pair.a->record);
  v.a = d.a;
  v.b = d.b;
  v.difference = d.difference;
  v.test = row.items != nullptr ? "items" : "totals";
  v.reason = refusal(row, v.verdict);
  if (!v.reason.empty()) {
    v.test = "record";
  } else if (row.items != nullptr && row.items->identical) {
    v.verdict = Verdict::kPass;
    v.test = "identical";
    v.reason = message("imported.equal_answers");
  } else if (d.tolerance) {
    judge_tolerance(v, d);
  } else if (row.worse_holm) {
    judge_chance(v, row, policy, alpha);
  } else if (row.items != nullptr && *d.difference == 0) {
    v.verdict = Verdict::kPass;
    v.reason = message("imported.equal_marks");
  } else {
    judge_gross(v, d);
  }
  return v;
}

void correct(std::vector<Row>& rows, ScoreFamily family, bool exact) {
  std::vector<Row*> tested;
  std::vector<double> worse, better;
  for (Row& row : rows) {
    if (row.family != family || !row.difference.p_two_sided || !row.difference.difference) continue;
    tested.push_back(&row);
    worse.push_back(p_worse_of(row.difference, exact));
    better.push_back(p_better_of(row.difference, exact));
  }
  const auto worse_holm = holm(worse), better_holm = holm(better);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    tested[i]->worse_holm = worse_holm[i];
    tested[i]->better_holm = better_holm[i];
  }
}

// Speed and memory of a real machine, measured once: gross changes alone.
void judge_cost(const RecordPair& pair, const MetricDifference& row, ImportedVerdicts& result) {
  if (!row.difference || row.direction == Direction::kNone || *row.difference == 0) return;
  const auto gross = gross_change(*row.a, *row.b, row.unit, false);
  const std::string where = describe(pair.a->record);
  const std::string change =
      fmt::format("{} → {}", value_text(*row.a, row.unit), value_text(*row.b, row.unit));
  const bool is_worse = (*row.difference < 0) == (row.direction == Direction::kHigher);
  if (gross && gross->is_beyond && is_worse) {
    TaskVerdict v;
    v.metric = row.name;
    v.where = where;
    v.a = row.a;
    v.b = row.b;
    v.difference = row.difference;
    v.test = "totals";
    v.verdict = Verdict::kRegressed;
    v.reason = message("gate.device_clock", change, gross->bound);
    result.verdicts.push_back(std::move(v));
  } else {
    result.notes.push_back(
        gross && is_worse
            ? message("imported.measured_once_within", row.name, where, change, gross->bound)
            : message("imported.measured_once", row.name, where, change));
  }
}

std::vector<Row> rows_of(const std::vector<const RecordPair*>& pairs, const GatePolicy& policy,
                         ImportedVerdicts& result) {
  std::vector<Row> rows;
  for (const RecordPair* pair : pairs) {
    const std::string where = describe(pair->a->record);
    if (Sentence why = nothing_in_common(*pair); !why.empty()) {
      TaskVerdict v;
      v.where = where;
      v.test = "record";
      v.verdict = Verdict::kIncomparable;
      v.reason = std::move(why);
      result.verdicts.push_back(std::move(v));
      continue;
    }
    for (const MetricDifference& row : pair->metrics) {
      if (row.clock != Clock::kNone) {
        judge_cost(*pair, row, result);
        continue;
      }
      if (!row.a && row.is_only_in(FoundIn::kB)) {
        if (row.primary && row.part_of.empty())
          result.notes.push_back(message("gate.new", fmt::format("{} of {}", row.name, where)));
        continue;
      }
      if (row.direction == Direction::kNone) {
        if (row.difference && *row.difference != 0)
          result.notes.push_back(message("imported.no_direction", row.name, where,
                                         row.name.substr(row.name.rfind('/') + 1)));
        continue;
      }
      // Judged over seeds, with the curve's own noise.
      if (pair->curves && row.a && noise_of_imported(*pair->a, *row.a)) continue;
      if (!is_gated(policy, row)) {
        result.notes.push_back(
            message("gate.note", row.name, where, message("gate.not_declared_shown")));
        continue;
      }
      const auto items = std::find_if(pair->items.begin(), pair->items.end(),
                                      [&](const auto& one) { return one.task == row.name; });
      const ScoreFamily family = !row.primary          ? ScoreFamily::kBeside
                                 : row.part_of.empty() ? ScoreFamily::kHeadline
                                                       : ScoreFamily::kParts;
      rows.push_back({*pair, row, items == pair->items.end() ? nullptr : &*items, family});
    }
  }
  return rows;
}

// Where nothing else is judged: scores whose better side nobody states are no pass.
void add_undirected(const std::vector<const RecordPair*>& pairs, ImportedVerdicts& result) {
  for (const RecordPair* pair : pairs)
    for (const MetricDifference& row : pair->metrics) {
      if (row.clock != Clock::kNone || row.direction != Direction::kNone || !row.difference)
        continue;
      TaskVerdict v;
      v.metric = row.name;
      v.where = describe(pair->a->record);
      v.a = row.a;
      v.b = row.b;
      v.difference = row.difference;
      v.test = "totals";
      v.verdict = *row.difference == 0 ? Verdict::kPass : Verdict::kInconclusive;
      v.reason = *row.difference == 0
                     ? message("imported.equal_totals")
                     : message("imported.undirected", row.name.substr(row.name.rfind('/') + 1));
      result.verdicts.push_back(std::move(v));
    }
}

}  // namespace

ImportedVerdicts judge_imported(const std::vector<const RecordPair*>& pairs,
                                const GatePolicy& policy) {
  ImportedVerdicts result;
  std::vector<Row> rows = rows_of(pairs, policy, result);
  constexpr std::array kFamilies = {ScoreFamily::kHeadline, ScoreFamily::kParts,
                                    ScoreFamily::kBeside};
  double families = 0;
  for (const ScoreFamily family : kFamilies) {
    correct(rows, family, policy.exact_test);
    families += std::ranges::any_of(
        rows, [&](const Row& row) { return row.family == family && row.worse_holm; });
  }
  const double alpha = policy.alpha / std::max(families, 1.0);
  for (const Row& row : rows) {
    TaskVerdict v = judged(row, policy, alpha);
    // Subjects and second metrics are no checks of their own: only what is surely worse is said.
    const bool is_refused = v.verdict == Verdict::kIncomparable || v.verdict == Verdict::kError;
    const bool is_worse = v.verdict == Verdict::kRegressed || row.difference.shown == Shown::kWorse;
    if (row.family == ScoreFamily::kBeside && !is_worse && row.difference.contradiction.empty())
      continue;
    const bool is_check = is_refused && !is_gone(row.difference);
    if (row.family == ScoreFamily::kParts && !is_worse && !is_check) continue;
    result.verdicts.push_back(std::move(v));
  }
  if (result.verdicts.empty()) add_undirected(pairs, result);
  return result;
}

}  // namespace nb
