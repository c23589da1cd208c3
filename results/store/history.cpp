#include "results/store/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "results/store/listed_run.hpp"
#include "results/store/meant_names.hpp"

namespace nb {
namespace {

using Seed = std::optional<std::int64_t>;

struct Value {
  const IndexedMetric* metric;
  const IndexedRecord* record;
};

// What must be equal to stand in one group, but for the set of seeds.
struct Key {
  std::string sequence, kind, name, device, trained_on, unit, clock, machine, comparability;
  auto operator<=>(const Key&) const = default;
};
using Cells = std::map<std::pair<Key, std::string>, std::map<Seed, Value>>;  // string: the run

std::string joined(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// The values that a filter can choose from; an error when it chooses none of them.
Result<void> check_chosen(const std::string& what, const std::string& chosen,
                          const std::set<std::string>& there, const std::string& metric) {
  if (chosen.empty() || there.contains(chosen)) return {};
  const std::vector<std::string> names(there.begin(), there.end());
  return bad_input(fmt::format("--{} {}: no \"{}\" there{}; there are {}", what, chosen, metric,
                               meant_names(chosen, names), joined(there)));
}

std::string seed_text(const Seed& seed) { return seed ? std::to_string(*seed) : "none"; }

Result<void> check_filter(const HistoryFilter& filter, const std::vector<Value>& values,
                          const std::string& metric) {
  std::set<std::string> devices, record_names, clocks, seeds;
  for (const Value& value : values) {
    record_names.insert(value.record->name);
    if (!value.record->device.empty()) devices.insert(value.record->device);
    clocks.insert(std::string(name(value.metric->metric.clock)));
    seeds.insert(seed_text(value.record->seed));
  }
  NB_TRY_VOID(check_chosen("name", filter.name, record_names, metric));
  NB_TRY_VOID(check_chosen("device", filter.device, devices, metric));
  NB_TRY_VOID(check_chosen("clock", filter.clock, clocks, metric));
  return check_chosen("seed", filter.seed ? seed_text(filter.seed) : "", seeds, metric);
}

bool is_chosen(const HistoryFilter& filter, const Value& value) {
  return (filter.name.empty() || value.record->name == filter.name) &&
         (filter.device.empty() || value.record->device == filter.device) &&
         (filter.clock.empty() || name(value.metric->metric.clock) == filter.clock) &&
         (!filter.seed || value.record->seed == filter.seed);
}

Key key_of(const Value& value, const std::string& sequence) {
  const Metric& metric = value.metric->metric;
  const IndexedRecord& record = *value.record;
  return {sequence,
          record.kind,
          record.name,
          record.device,
          record.trained_on,
          metric.unit,
          std::string(name(metric.clock)),
          metric.clock == Clock::kHost ? record.machine : "",
          value.metric->comparability};
}

// Of the same node in one run, the one that finished last counts.
std::size_t add_cell(Cells& cells, const Key& key, const Value& value) {
  auto& seeds = cells[{key, value.record->run}];
  const auto [at, is_new] = seeds.emplace(value.record->seed, value);
  if (!is_new && at->second.record->finished_at <= value.record->finished_at) at->second = value;
  return is_new ? 0 : 1;
}

HistoryRow row_of(const std::map<Seed, Value>& by_seed, const std::string& when_of_run) {
  HistoryRow row;
  double sum = 0;
  for (const auto& [seed, value] : by_seed) {
    const Metric& metric = value.metric->metric;
    row.run = value.record->run;
    row.when = std::max(row.when, value.record->finished_at);
    row.n = metric.n;
    if (!metric.value) {
      row.reason_if_null = by_seed.size() == 1
                               ? metric.reason_if_null
                               : fmt::format("seed {}: {}", seed_text(seed), metric.reason_if_null);
      continue;
    }
    row.by_seed.push_back(*metric.value);
    sum += *metric.value;
    row.low = metric.low;
    row.high = metric.high;
  }
  if (row.when.empty()) row.when = when_of_run;
  if (by_seed.size() > 1) row.low = row.high = std::nullopt;
  if (row.by_seed.size() == by_seed.size())
    row.value = sum / static_cast<double>(by_seed.size());
  else
    row.by_seed.clear();
  return row;
}

// Settings and code of all seeds together.
struct Origin {
  std::string settings, code;
};
Origin origin_of(const std::map<Seed, Value>& by_seed) {
  Origin origin;
  for (const auto& [seed, value] : by_seed) {
    origin.settings += value.record->settings + "\n";
    origin.code += value.record->code + "\n";
  }
  return origin;
}

struct Dated {
  HistoryRow row;
  Origin origin;
};

std::vector<HistoryRow> rows_by_time(std::vector<Dated> dated) {
  std::stable_sort(dated.begin(), dated.end(), [](const Dated& a, const Dated& b) {
    return std::tie(a.row.when, a.row.run) < std::tie(b.row.when, b.row.run);
  });
  std::vector<HistoryRow> rows;
  for (std::size_t i = 0; i < dated.size(); ++i) {
    if (i > 0 && dated[i].origin.settings != dated[i - 1].origin.settings)
      dated[i].row.changed.push_back("settings");
    if (i > 0 && dated[i].origin.code != dated[i - 1].origin.code)
      dated[i].row.changed.push_back("code");
    rows.push_back(dated[i].row);
  }
  return rows;
}

void mark_levels(std::vector<HistoryRow>& rows) {
  std::vector<double> values;
  std::vector<std::size_t> row_of_value;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].value) continue;
    values.push_back(*rows[i].value);
    row_of_value.push_back(i);
  }
  for (ChangePoint point : change_points(values)) {
    point.index = row_of_value[point.index];
    rows[point.index].level = point;
  }
}

std::vector<HistoryGroup> groups_of(const Cells& cells,
                                    const std::map<std::string, std::string>& when_of_run) {
  std::map<std::pair<Key, std::vector<Seed>>, std::vector<Dated>> grouped;
  std::map<std::pair<Key, std::vector<Seed>>, Direction> directions;
  for (const auto& [place, by_seed] : cells) {
    std::vector<Seed> seeds;
    for (const auto& [seed, value] : by_seed) seeds.push_back(seed);
    const std::pair key(place.first, seeds);
    grouped[key].push_back({row_of(by_seed, when_of_run.at(place.second)), origin_of(by_seed)});
    directions[key] = by_seed.begin()->second.metric->metric.direction;
  }
  std::vector<HistoryGroup> groups;
  for (auto& [key, dated] : grouped) {
    const auto& [of, seeds] = key;
    HistoryGroup group{of.sequence,   of.kind,    of.name,          of.device,
                       of.trained_on, of.unit,    of.clock,         directions.at(key),
                       seeds,         of.machine, of.comparability, rows_by_time(std::move(dated))};
    mark_levels(group.rows);
    groups.push_back(std::move(group));
  }
  // Groups that differ in what may not be compared only stand together, the older first.
  std::stable_sort(groups.begin(), groups.end(), [](const HistoryGroup& a, const HistoryGroup& b) {
    const auto order = [](const HistoryGroup& g) {
      return std::tie(g.sequence, g.kind, g.name, g.device, g.trained_on, g.unit, g.clock, g.seeds,
                      g.rows.front().when);
    };
    return order(a) < order(b);
  });
  return groups;
}

tl::unexpected<Error> no_metric(const RunIndex& index, const std::string& metric) {
  std::vector<std::string> names;
  for (const MetricSummary& known : index.metrics()) names.push_back(known.name);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string where = index.folder().string();
  if (names.empty()) return bad_input(fmt::format("no metrics in {}: it holds no runs", where));
  return bad_input(fmt::format("no metric \"{}\" in {}{} (npubench runs metrics)", metric, where,
                               meant_names(metric, names)));
}

}  // namespace

HistorySource::HistorySource(const RunIndex& index) : index_(index), records_(index.records()) {
  for (const IndexedRecord& record : records_) by_id_[record.id] = &record;
  for (const ListedRun& run : listed_runs(index)) {
    sequence_of_run_[run.name] = sequence_of(run.path);
    when_of_run_[run.name] = run.when;
  }
}

Result<History> HistorySource::history_of(const std::string& metric,
                                          const HistoryFilter& filter) const {
  const auto metrics = index_.metric(metric);
  if (metrics.empty()) return no_metric(index_, metric);
  std::vector<Value> values;
  for (const IndexedMetric& one : metrics) values.push_back({&one, by_id_.at(one.record)});
  NB_TRY_VOID(check_filter(filter, values, metric));
  History history{metric, {}, {}};
  Cells cells;
  std::size_t earlier = 0, doubled = 0;
  for (const Value& value : values) {
    if (!is_chosen(filter, value)) continue;
    if (value.record->is_listed)
      doubled += add_cell(cells, key_of(value, sequence_of_run_.at(value.record->run)), value);
    else
      ++earlier;
  }
  history.groups = groups_of(cells, when_of_run_);
  if (earlier > 0)
    history.notes.push_back(fmt::format(
        "{} of nodes that their run.json no longer lists: earlier plans, left out", earlier));
  if (doubled > 0)
    history.notes.push_back(fmt::format(
        "{} of nodes that finished again in the same run: the later value counts", doubled));
  return history;
}

Result<History> history_of(const RunIndex& index, const std::string& metric,
                           const HistoryFilter& filter) {
  return HistorySource(index).history_of(metric, filter);
}

}  // namespace nb
