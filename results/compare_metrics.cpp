#include "results/compare_metrics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "results/composite_comparison.hpp"
#include "results/format.hpp"
#include "results/metric_names.hpp"
#include "results/rl_work.hpp"

namespace nb {
namespace {

constexpr double kAlpha = 0.05;
constexpr double kPower80 = 2.801585;  // z(.975) + z(.80)

Shown direction_of(const MetricDifference& row) {
  if (row.direction == Direction::kNone) return Shown::kNothing;
  const bool better = (*row.difference > 0) == (row.direction == Direction::kHigher);
  return better ? Shown::kBetter : Shown::kWorse;
}

void add_paired_items(MetricDifference& row, const ItemComparison& items) {
  if (!items.error.empty()) {
    row.note = items.error;
    return;
  }
  if (items.counts.n() == 0) return;
  row.counts = items.counts;
  row.method = "paired items";
  row.interval95 = newcombe_paired(items.counts);
  row.p_two_sided = mid_p_two_sided(items.counts.only_a, items.counts.only_b);
  row.visible = paired_visible(items.counts);
}

// The values of an imported row are those of the items that both sides scored.
void add_imported_items(MetricDifference& row, const ItemComparison& items) {
  const std::int64_t n = items.counts.n();
  if (n == 0) {
    row.difference.reset();
    row.relative.reset();
    row.incomparable = true;
    row.note = "INCOMPARABLE: no item of A is an item of B";
    return;
  }
  row.n = n;
  row.a = items.mean_a;
  row.b = items.mean_b;
  row.difference = items.mean_b - items.mean_a;
  row.relative.reset();
  if (items.mean_a != 0) row.relative = *row.difference / std::fabs(items.mean_a);
  if (!items.fractions) {
    add_paired_items(row, items);
  } else {
    row.method = fmt::format("paired items, fractions; interval of {} bootstrap replicates",
                             items.bootstrap->replicates);
    row.interval95 = items.bootstrap->bca95;
    row.p_two_sided = items.fractions->p_two_sided;
    row.visible = detectable(items.fractions->standard_error, items.fractions->df);
  }
  if (items.only_a > 0 || items.only_b > 0)
    row.note =
        fmt::format("{} paired items; {} only in A, {} only in B", n, items.only_a, items.only_b);
}

// Totals with intervals on both sides and no common items: two independent samples.
// nullptr: a time of a host, which has no interval.
void add_totals(MetricDifference& row, const Metric* a, const Metric* b) {
  if (a == nullptr || b == nullptr || !a->low || !a->high || !b->low || !b->high) return;
  const double se_a = (*a->high - *a->low) / (2 * kZ95), se_b = (*b->high - *b->low) / (2 * kZ95);
  const double se = std::sqrt(se_a * se_a + se_b * se_b);
  if (!(se > 0)) return;
  constexpr double kNormal = 1e9;  // degrees of freedom
  row.method = "unpaired totals";
  row.interval95 = Interval{*row.difference - kZ95 * se, *row.difference + kZ95 * se};
  row.p_two_sided = 2 * student_t_cdf(-std::fabs(*row.difference) / se, kNormal);
  row.visible = kPower80 * se;
}

bool is_primary(const Record& record, const std::string& metric) {
  const Json& settings = *record.settings;
  const Json::json_pointer at("/imported/primary");
  if (!settings.is_object() || !settings.contains(at)) return true;
  const Json& names = settings.at(at);
  return std::find(names.begin(), names.end(), Json(metric)) != names.end();
}

// CORE and ChatCORE, from the paired items of their tasks.
void add_composite(MetricDifference& row, const RecordPair& pair) {
  const auto composite = composite_of(pair, row.name);
  if (!composite) return;
  row.method = "paired tasks; " + contributors_text(*composite);
  row.interval95 = composite->interval95;
  row.p_two_sided = composite->p_two_sided;
  row.visible = composite->mde80;
}

// What the difference of one pair shows: exact counts always, items of fixed weights by their
// interval, one training seed and a real clock nothing.
void judge_row(MetricDifference& row, const RecordPair& pair) {
  if (!row.difference) return;
  const bool learned = pair.a->record.kind == "train" || pair.a->record.kind == "eval";
  const bool exact = row.clock == Clock::kSim || (row.clock == Clock::kNone && !learned);
  if (row.clock == Clock::kSim && pair.wrote_otherwise && *row.difference != 0) return;
  if (exact) {
    row.shown = *row.difference == 0 ? Shown::kEqual : direction_of(row);
  } else if (row.clock == Clock::kNone && row.direction != Direction::kNone) {
    const bool interval = row.interval95 && (pair.fixed_weights || pair.imported);
    const bool certain = interval && *row.p_two_sided <= kAlpha &&
                         (row.interval95->low > 0 || row.interval95->high < 0);
    if (certain)
      row.shown = direction_of(row);
    else if (*row.difference == 0 && !interval)
      row.shown = Shown::kEqual;
    else
      row.shown = Shown::kNotShown;
    if (!interval) row.visible.reset();
  }
  if (!pair.fixed_weights && !pair.imported &&
      row.counts)  // an item interval says nothing about another training
    row.method += ", these two checkpoints only";
}

std::string null_note(const Metric& metric, const char* side) {
  return fmt::format("{}: not measured: {}", side, metric.reason_if_null);
}

MetricDifference difference_of(const Metric* a, const Metric* b) {
  const Metric& either = a != nullptr ? *a : *b;
  MetricDifference row;
  row.name = either.name;
  row.unit = either.unit;
  row.direction = either.direction;
  row.clock = either.clock;
  row.n = either.n;
  if (a != nullptr) row.a = a->value;
  if (b != nullptr) row.b = b->value;
  if (a == nullptr || b == nullptr) {
    row.note = a == nullptr ? "only in B" : "only in A";
  } else if (a->clock != b->clock || a->unit != b->unit) {
    row.note = fmt::format("not comparable: {} ({} clock) and {} ({} clock)", a->unit,
                           name(a->clock), b->unit, name(b->clock));
    row.b.reset();  // another quantity must not stand in this row
  } else if (!a->value) {
    row.note = null_note(*a, "A");
  } else if (!b->value) {
    row.note = null_note(*b, "B");
  } else {
    row.difference = *b->value - *a->value;
    if (*a->value != 0) row.relative = *row.difference / std::fabs(*a->value);
  }
  return row;
}

const Metric* find_in(const std::vector<Metric>& metrics, const std::string& name) {
  const auto at = std::find_if(metrics.begin(), metrics.end(),
                               [&](const Metric& metric) { return metric.name == name; });
  return at == metrics.end() ? nullptr : &*at;
}

// Equal weights or answers, another number: what was computed is another metric.
bool metric_changed(const MetricDifference& row, const RecordPair& pair,
                    const ItemComparison* items) {
  if (!row.difference || *row.difference == 0 || row.clock != Clock::kNone) return false;
  if (pair.imported) return false;
  if (pair.a->record.kind == "train") return pair.fixed_weights && pair.same_device;
  return items != nullptr && items->identical;
}

}  // namespace

void add_metrics(RecordPair& pair, std::vector<std::string>& damaged) {
  const Record &a = pair.a->record, &b = pair.b->record;
  const bool is_eval = a.kind == "eval";
  pair.wrote_otherwise = wrote_otherwise(a, b);
  if (is_eval)
    for (const auto& [task, file] : a.items)
      if (b.items.contains(task) && incomparable_because(a, b, task).empty())
        pair.items.push_back(compare_items(*pair.a, *pair.b, task));
  for (const ItemComparison& items : pair.items)
    if (!items.error.empty()) damaged.push_back(items.error);
  const auto add_list = [&](const std::vector<Metric>& left, const std::vector<Metric>& right) {
    for (const Metric& metric : left)
      pair.metrics.push_back(difference_of(&metric, find_in(right, metric.name)));
    for (const Metric& metric : right)
      if (find_in(left, metric.name) == nullptr)
        pair.metrics.push_back(difference_of(nullptr, &metric));
  };
  add_list(a.metrics, b.metrics);
  add_list(a.host_metrics, b.host_metrics);
  for (MetricDifference& row : pair.metrics) {
    const std::string task = is_eval ? task_of_metric(row.name) : "";
    const std::string reason = incomparable_because(a, b, task);
    if (!reason.empty()) {
      row.difference.reset();
      row.relative.reset();
      row.incomparable = true;
      row.note = "INCOMPARABLE: " + reason;
      continue;
    }
    const auto items = std::find_if(pair.items.begin(), pair.items.end(), [&](const auto& one) {
      return one.task == (pair.imported ? row.name : task);
    });
    const bool has_items = items != pair.items.end();
    if (pair.imported) row.primary = is_primary(a, row.name) && is_primary(b, row.name);
    if (row.difference && has_items && pair.imported)
      add_imported_items(row, *items);
    else if (row.difference && pair.imported)
      add_totals(row, find_in(a.metrics, row.name), find_in(b.metrics, row.name));
    else if (row.difference && has_items && row.name == metric::of_task(task, metric::kAccuracy))
      add_paired_items(row, *items);
    else if (row.difference && is_eval && !has_items)
      add_composite(row, pair);
    judge_row(row, pair);
    if (metric_changed(row, pair, has_items ? &*items : nullptr))
      pair.changed_metrics.push_back(fmt::format(
          "{} {} → {}", row.name, value_text(*row.a, row.unit), value_text(*row.b, row.unit)));
  }
}

}  // namespace nb
