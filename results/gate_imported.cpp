#include "results/gate_imported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/format.hpp"

namespace nb {
namespace {

constexpr double kErrorShareLimit = 0.005;  // as for records of ours

struct Row {
  const MetricDifference& difference;
  const ItemComparison* items;  // nullptr: totals
};

double margin_of(const GatePolicy& policy, const std::string& task, std::int64_t n) {
  if (const auto at = policy.margins.find(task); at != policy.margins.end()) return at->second;
  const auto card = policy.card_discordance.find(task);
  return accuracy_margin(std::max<std::int64_t>(n, 1),
                         card == policy.card_discordance.end() ? 0 : card->second);
}

bool is_gated(const GatePolicy& policy, const MetricDifference& row) {
  const auto& tasks = policy.gated_tasks;
  return tasks.empty() || std::find(tasks.begin(), tasks.end(), row.name) != tasks.end() ||
         std::find(tasks.begin(), tasks.end(), task_of_metric(row.name)) != tasks.end();
}

// What comes before any test; empty: nothing does. Sets the verdict.
std::string refusal(const Row& row, Verdict& verdict) {
  verdict = Verdict::kIncomparable;
  if (row.difference.incomparable) return row.difference.note;
  if (row.items == nullptr) {
    if (row.difference.difference) return {};
    verdict = Verdict::kError;
    return row.difference.note;
  }
  const ItemComparison& items = *row.items;
  if (!items.error.empty()) {
    verdict = Verdict::kError;
    return items.error;
  }
  const std::int64_t n = items.counts.n();
  if (n == 0) return "no item of the baseline is an item of the candidate";
  if (items.golds_differ > 0)
    return fmt::format("the reference answers of {} of {} items differ", items.golds_differ, n);
  if (items.prompts_differ > 0)
    return fmt::format("the prompts of {} of {} items differ", items.prompts_differ, n);
  verdict = Verdict::kError;
  if (items.only_a > 0)
    return fmt::format("the candidate lacks {} of the baseline's {} items ({})", items.only_a,
                       n + items.only_a, fmt::join(items.unpaired, ", "));
  if (std::fabs(items.unscored_a - items.unscored_b) > kErrorShareLimit)
    return fmt::format(
        "{:.1f} % of the items could not be scored, {:.1f} % in the baseline; find out why before "
        "judging scores",
        100 * items.unscored_b, 100 * items.unscored_a);
  return {};
}

// Fractions and totals: a difference with its standard error.
void judge_mean(TaskVerdict& v, const MetricDifference& row, double standard_error, double df,
                std::size_t family, const GatePolicy& policy) {
  const double sign = row.direction == Direction::kLower ? -1 : 1;
  const double better = sign * *row.difference, tests = static_cast<double>(family);
  const double t = better / standard_error;
  v.p_worse = student_t_cdf(t, df);
  v.p_worse_holm = std::min(1.0, tests * *v.p_worse);
  v.p_better_holm = std::min(1.0, tests * student_t_cdf(-t, df));
  v.low90 = better - student_t_quantile(.95, df) * standard_error;
  v.interval95 = row.interval95;
  v.margin = margin_of(policy, task_of_metric(row.name), row.n);
  v.mde80 = row.visible;
  v.uncalibrated = true;
  const std::string see = row.visible ? rounded_value(*row.visible, row.unit) : "";
  if (*v.p_worse_holm <= policy.alpha && better <= -*v.margin / 2) {
    v.verdict = Verdict::kRegressed;
    v.reason =
        fmt::format("{} worse beyond chance ({}), p {}", signed_text(*row.difference, row.unit),
                    row.method, p_text(*v.p_worse_holm));
  } else if (*v.low90 > -*v.margin) {
    v.verdict = *v.p_better_holm <= policy.alpha ? Verdict::kImproved : Verdict::kPass;
    v.reason = fmt::format("not worse by {} ({})", rounded_value(*v.margin, row.unit), row.method);
  } else {
    v.verdict = Verdict::kInconclusive;
    v.reason = fmt::format("can't tell: {} ({}); detectable difference (80 % power) {}",
                           signed_text(*row.difference, row.unit), row.method, see);
  }
}

}  // namespace

ImportedVerdicts judge_imported(const RecordPair& pair, const GatePolicy& policy) {
  ImportedVerdicts result;
  const std::string where = describe(pair.a->record);
  std::vector<Row> rows;
  for (const MetricDifference& row : pair.metrics) {
    const bool is_score = row.clock == Clock::kNone && row.direction != Direction::kNone;
    if (!is_score || !row.primary) continue;
    if (!row.a && row.note == "only in B") {
      result.notes.push_back(fmt::format("new, no baseline: {} of {}", row.name, where));
      continue;
    }
    if (!is_gated(policy, row)) {
      result.notes.push_back(fmt::format(
          "{} of {}: not in the declared family, shown but not judged", row.name, where));
      continue;
    }
    const auto items = std::find_if(pair.items.begin(), pair.items.end(),
                                    [&](const auto& one) { return one.task == row.name; });
    rows.push_back({row, items == pair.items.end() ? nullptr : &*items});
  }
  for (const Row& row : rows) {
    const MetricDifference& difference = row.difference;
    TaskVerdict v;
    v.metric = difference.name;
    v.where = where;
    v.a = difference.a;
    v.b = difference.b;
    v.difference = difference.difference;
    v.test = row.items != nullptr ? "items" : "totals";
    v.reason = refusal(row, v.verdict);
    if (!v.reason.empty()) {
      v.test = "record";
    } else if (row.items != nullptr && row.items->identical) {
      v.verdict = Verdict::kPass;
      v.test = "identical";
      v.reason = "equal answer by answer";
    } else if (row.items != nullptr && !row.items->fractions) {
      result.items.push_back({std::move(v), task_of_metric(difference.name), row.items->counts});
      continue;
    } else if (row.items != nullptr && row.items->fractions->standard_error > 0) {
      const MeanTest& test = *row.items->fractions;
      judge_mean(v, difference, test.standard_error, test.df, rows.size(), policy);
    } else if (*difference.difference == 0 && row.items != nullptr) {
      v.verdict = Verdict::kPass;
      v.reason = "equal marks of all items";
    } else if (difference.interval95) {
      const double se = (difference.interval95->high - difference.interval95->low) / (2 * kZ95);
      judge_mean(v, difference, se, 1e9, rows.size(), policy);
    } else {
      v.verdict = Verdict::kInconclusive;
      v.reason = "can't tell: totals without n or standard error; give the items";
    }
    result.verdicts.push_back(std::move(v));
  }
  return result;
}

}  // namespace nb
