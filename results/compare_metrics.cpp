#include "results/compare_metrics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "results/items.hpp"
#include "results/metric_names.hpp"

namespace nb {
namespace {

Result<std::vector<ItemRecord>> verified_items(const StoredRecord& stored,
                                               const std::string& task) {
  const auto at = stored.record.items.find(task);
  if (at == stored.record.items.end())
    return bad_input(
        fmt::format("{}: the record has no items of {}", stored.folder.string(), task));
  NB_TRY_VOID(verify_artifact(stored, at->second));
  return read_items(stored.folder / at->second);
}

bool has_items(const Record& record, const std::string& task) {
  return record.items.contains(task);
}

void add_paired_items(MetricDifference& row, const StoredRecord& a, const StoredRecord& b,
                      std::vector<std::string>& damaged) {
  const std::string task = task_of_metric(row.name);
  const auto counts = pair_items(a, b, task);
  if (!counts) {
    damaged.push_back(counts.error().message);
    row.note = counts.error().message;
    return;
  }
  row.counts = *counts;
  row.method = "paired items";
  row.interval95 = newcombe_paired(*counts);
  row.p_two_sided = mid_p_two_sided(counts->only_a, counts->only_b);
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

}  // namespace

Result<PairedCounts> pair_items(const StoredRecord& a, const StoredRecord& b,
                                const std::string& task) {
  NB_TRY(const auto items_a, verified_items(a, task));
  NB_TRY(const auto items_b, verified_items(b, task));
  if (items_a.size() != items_b.size())
    return bad_input(fmt::format("{}: {} items in {}, {} in {}", task, items_a.size(),
                                 a.folder.string(), items_b.size(), b.folder.string()));
  std::unordered_map<std::string, bool> right_in_b;  // looked up only, never walked
  for (const ItemRecord& item : items_b) right_in_b.emplace(item.id, item.ok);
  PairedCounts counts;
  for (const ItemRecord& item : items_a) {
    const auto at = right_in_b.find(item.id);
    if (at == right_in_b.end())
      return bad_input(fmt::format("{}: item {} of {} is not in {}", task, item.id,
                                   a.folder.string(), b.folder.string()));
    if (item.ok)
      ++(at->second ? counts.both : counts.only_a);
    else
      ++(at->second ? counts.only_b : counts.neither);
  }
  return counts;
}

std::vector<MetricDifference> metric_differences(const StoredRecord& a, const StoredRecord& b,
                                                 std::vector<std::string>& damaged) {
  std::vector<MetricDifference> rows;
  const auto add_list = [&](const std::vector<Metric>& left, const std::vector<Metric>& right) {
    for (const Metric& metric : left)
      rows.push_back(difference_of(&metric, find_in(right, metric.name)));
    for (const Metric& metric : right)
      if (find_in(left, metric.name) == nullptr) rows.push_back(difference_of(nullptr, &metric));
  };
  add_list(a.record.metrics, b.record.metrics);
  add_list(a.record.host_metrics, b.record.host_metrics);
  for (MetricDifference& row : rows) {
    const std::string task = a.record.kind == "eval" ? task_of_metric(row.name) : "";
    const std::string reason = incomparable_because(a.record, b.record, task);
    if (!reason.empty()) {
      row.difference.reset();
      row.relative.reset();
      row.note = "INCOMPARABLE: " + reason;
      continue;
    }
    const bool items = row.difference && has_items(a.record, task) && has_items(b.record, task) &&
                       row.name == metric::of_task(task, metric::kAccuracy);
    if (items) add_paired_items(row, a, b, damaged);
  }
  return rows;
}

std::vector<SeedDifference> seed_differences(const std::vector<RecordPair>& pairs) {
  std::vector<SeedDifference> groups;
  std::vector<std::size_t> first_pair;  // of each group, to compare identities
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Record& a = pairs[i].a->record;
    if (!a.seed) continue;
    for (const MetricDifference& row : pairs[i].metrics) {
      if (!row.difference || row.clock != Clock::kNone) continue;
      const auto same_group = [&](std::size_t g) {
        const RecordPair& first = pairs[first_pair[g]];
        const Record& b = pairs[i].b->record;
        const auto key = [](const Record& r) {
          return std::tie(r.kind, r.name, r.trained_on, r.device);
        };
        return groups[g].metric == row.name && key(first.a->record) == key(a) &&
               key(first.b->record) == key(b);
      };
      std::size_t g = 0;
      while (g < groups.size() && !same_group(g)) ++g;
      if (g == groups.size()) {
        Record unseeded = a;
        unseeded.seed.reset();
        if (pairs[i].b->record.device != a.device) unseeded.device = unseeded.trained_on = "";
        groups.push_back({describe(unseeded), row.name, row.unit, row.direction, {}, {}, {}});
        first_pair.push_back(i);
      }
      groups[g].a.push_back(*row.a);
      groups[g].b.push_back(*row.b);
    }
  }
  std::erase_if(groups, [](const SeedDifference& group) { return group.a.size() < 2; });
  for (SeedDifference& group : groups) group.test = welch(group.a, group.b);
  return groups;
}

}  // namespace nb
