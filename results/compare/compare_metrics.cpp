#include "results/compare/compare_metrics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "results/compare/composite_comparison.hpp"
#include "results/compare/imported_rows.hpp"
#include "results/messages/sentences.hpp"
#include "results/stats/margin_shift.hpp"
#include "results/stats/stats.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/rl_work.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

Shown direction_of(const MetricDifference& row) {
  if (row.direction == Direction::kNone) return Shown::kNothing;
  const bool better = (*row.difference > 0) == (row.direction == Direction::kHigher);
  return better ? Shown::kBetter : Shown::kWorse;
}

void add_paired_items(MetricDifference& row, const ItemComparison& items) {
  if (!items.error.empty()) {
    row.note = verbatim(items.error);
    return;
  }
  if (items.counts.n() == 0) return;
  row.counts = items.counts;
  row.method = message("method.items");
  row.interval95 = newcombe_paired(items.counts);
  row.p_two_sided = mid_p_two_sided(items.counts.only_a, items.counts.only_b);
  row.min_detectable = paired_min_detectable(items.counts);
}

// CORE and ChatCORE, from the paired items of their tasks.
void add_composite(MetricDifference& row, const RecordPair& pair) {
  const auto composite = composite_of(pair, row.name);
  if (!composite) return;
  row.of_tasks = true;
  row.method = message("method.tasks", contributors_text(*composite));
  row.interval95 = composite->interval95;
  row.p_two_sided = composite->p_two_sided;
  row.min_detectable = composite->min_detectable;
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
    const bool interval = row.interval95 && pair.fixed_weights;
    const bool certain = interval && *row.p_two_sided <= kAlpha &&
                         (row.interval95->low > 0 || row.interval95->high < 0);
    if (certain)
      row.shown = direction_of(row);
    else if (*row.difference == 0 && !interval)
      row.shown = Shown::kEqual;
    else
      row.shown = Shown::kNotShown;
    if (!interval) row.min_detectable.reset();
  }
  if (!pair.fixed_weights && row.counts)  // an item interval says nothing about another training
    row.method = message("method.two_checkpoints", std::move(row.method));
}

Sentence null_note(const Metric& metric, const char* side) {
  return message("row.not_measured", side, metric.reason_if_null);
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
    row.side = a == nullptr ? FoundIn::kB : FoundIn::kA;
    row.note = a == nullptr ? message("row.only_b") : message("row.only_a");
  } else if (a->clock != b->clock || a->unit != b->unit) {
    row.note = message("row.not_comparable", a->unit, name(a->clock), b->unit, name(b->clock));
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

// A record may have 100,000 metrics.
using Named = std::unordered_map<std::string_view, const Metric*>;
Named by_name(const std::vector<Metric>& metrics) {
  Named named;
  for (const Metric& metric : metrics) named.try_emplace(metric.name, &metric);
  return named;
}
const Metric* find_in(const Named& metrics, const std::string& name) {
  const auto at = metrics.find(name);
  return at == metrics.end() ? nullptr : at->second;
}

// The items that a metric is computed from: its task's, or those of a task that it is a part of
// ("mmlu" of "mmlu/anatomy/accuracy"); nullptr: none of them alone.
const ItemComparison* items_behind(const RecordPair& pair, const std::string& metric) {
  for (std::string task = task_of_metric(metric); !task.empty();) {
    for (const ItemComparison& items : pair.items)
      if (items.task == task) return &items;
    const std::string above = task_of_metric(task);
    task = above == task ? "" : above;
  }
  return nullptr;
}

// Every answer of the record: what composites ("core") are computed from.
bool all_identical(const RecordPair& pair) {
  return !pair.items.empty() && pair.items.size() == pair.a->record.items.size() &&
         pair.items.size() == pair.b->record.items.size() &&
         std::ranges::all_of(pair.items, &ItemComparison::identical);
}

// The share of right answers by guessing that a centred score takes away, (a − r)/(1 − r); of a
// perfect score it cannot be told.
std::optional<double> guessing_of(const Record& record, const std::string& task) {
  const Metric* accuracy = find_metric(record, metric::of_task(task, metric::kAccuracy));
  const Metric* centred = find_metric(record, metric::of_task(task, metric::kCentred));
  if (accuracy == nullptr || centred == nullptr || !accuracy->value || !centred->value)
    return std::nullopt;
  if (*centred->value >= 1) return std::nullopt;
  return (*accuracy->value - *centred->value) / (1 - *centred->value);
}

bool centred_otherwise(const RecordPair& pair, const std::string& metric) {
  constexpr double kSame = 1e-9;  // of a few roundings of doubles
  const std::string task = task_of_metric(metric);
  if (metric != metric::of_task(task, metric::kCentred)) return false;
  const auto a = guessing_of(pair.a->record, task), b = guessing_of(pair.b->record, task);
  return a && b && std::fabs(*a - *b) > kSame;
}

// What is equal where the value is not: what was computed is another metric.
Sentence equal_behind(const MetricDifference& row, const RecordPair& pair) {
  if (!row.difference || *row.difference == 0 || row.clock != Clock::kNone) return {};
  if (pair.imported) return {};
  const std::string& kind = pair.a->record.kind;
  if (kind == "train")
    return pair.fixed_weights && pair.same_device ? message("row.equal_weights") : Sentence();
  if (kind != "eval") return {};
  const ItemComparison* items = items_behind(pair, row.name);
  if (items != nullptr ? items->identical : all_identical(pair))
    return message("row.equal_answers");
  return centred_otherwise(pair, row.name) ? message("row.other_guessing") : Sentence();
}

ItemComparison items_of_pair(const RecordPair& pair, const std::string& task) {
  ItemComparison items = compare_items(*pair.a, *pair.b, task);
  if (pair.fixed_weights && items.error.empty() && items.has_choices && !items.identical &&
      items.margins.size() >= 2)
    items.shift = margin_shift(items.margins, items.counts.only_a + items.counts.only_b, true);
  return items;
}

}  // namespace

void add_metrics(RecordPair& pair, std::vector<std::string>& damaged) {
  const Record &a = pair.a->record, &b = pair.b->record;
  const bool is_eval = a.kind == "eval";
  pair.wrote_otherwise = wrote_otherwise(a, b);
  const ComparableTasks comparable(a, b);
  if (is_eval)
    for (const auto& [task, file] : a.items)
      if (b.items.contains(task) && comparable.why_not(task).empty())
        pair.items.push_back(items_of_pair(pair, task));
  for (const ItemComparison& items : pair.items)
    if (!items.error.empty()) damaged.push_back(items.error);
  const auto add_list = [&](const std::vector<Metric>& left, const std::vector<Metric>& right) {
    const Named in_left = by_name(left), in_right = by_name(right);
    for (const Metric& metric : left)
      pair.metrics.push_back(difference_of(&metric, find_in(in_right, metric.name)));
    for (const Metric& metric : right)
      if (find_in(in_left, metric.name) == nullptr)
        pair.metrics.push_back(difference_of(nullptr, &metric));
  };
  add_list(a.metrics, b.metrics);
  add_list(a.host_metrics, b.host_metrics);
  std::unordered_map<std::string_view, const ItemComparison*> items_of;
  for (const ItemComparison& items : pair.items) items_of.try_emplace(items.task, &items);
  const Named named_a = by_name(a.metrics), named_b = by_name(b.metrics);
  for (MetricDifference& row : pair.metrics) {
    const std::string task = is_eval ? task_of_metric(row.name) : "";
    if (Sentence reason = comparable.why_not(task); !reason.empty()) {
      row.difference.reset();
      row.relative.reset();
      row.incomparable = true;
      row.note = message("row.incomparable", std::move(reason));
      continue;
    }
    const auto found = items_of.find(pair.imported ? row.name : task);
    const bool has_items = found != items_of.end();
    const ItemComparison* const items = has_items ? found->second : nullptr;
    if (pair.imported) {  // what it shows: settle_imported, once all are there
      fill_imported_row(row, pair, items, find_in(named_a, row.name), find_in(named_b, row.name));
      continue;
    }
    if (row.difference && has_items && row.name == metric::of_task(task, metric::kAccuracy))
      add_paired_items(row, *items);
    else if (row.difference && is_eval && !has_items)
      add_composite(row, pair);
    judge_row(row, pair);
    row.other_metric = equal_behind(row, pair);
    if (!row.other_metric.empty())
      pair.changed_metrics.push_back(fmt::format(
          "{} {} → {}", row.name, value_text(*row.a, row.unit), value_text(*row.b, row.unit)));
  }
}

}  // namespace nb
