#include "report/history_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "results/text/format.hpp"

namespace nb {
namespace {

constexpr std::size_t kMostGroups = 6;

// Runs of all groups in the order of time: their places on the x axis, from 1.
std::map<std::string, double> places_of(const History& history) {
  std::set<std::pair<std::string, std::string>> runs;  // when, run
  std::map<std::string, std::string> when;
  for (const HistoryGroup& group : history.groups)
    for (const HistoryRow& row : group.rows) {
      auto [at, is_new] = when.emplace(row.run, row.when);
      if (!is_new) at->second = std::max(at->second, row.when);
    }
  for (const auto& [run, time] : when) runs.emplace(time, run);
  std::map<std::string, double> places;
  for (const auto& [time, run] : runs) places.emplace(run, static_cast<double>(places.size() + 1));
  return places;
}

// Dates of at most kMostDates runs, as far apart as they go; of runs of one day their times.
constexpr std::size_t kMostDates = 7;

std::vector<std::pair<double, std::string>> dates_of(const History& history,
                                                     const std::map<std::string, double>& places) {
  std::map<double, std::string> when;
  for (const HistoryGroup& group : history.groups)
    for (const HistoryRow& row : group.rows) {
      std::string& latest = when[places.at(row.run)];
      latest = std::max(latest, row.when);
    }
  constexpr std::size_t kDay = 10, kMinute = 16;  // of 2026-11-29T02:40:00Z
  if (when.empty()) return {};
  const bool one_day =
      when.begin()->second.substr(0, kDay) == when.rbegin()->second.substr(0, kDay);
  const std::size_t stride = (when.size() + kMostDates - 1) / kMostDates;
  std::vector<std::pair<double, std::string>> tics;
  std::size_t i = 0;
  for (const auto& [place, time] : when) {
    if (i++ % stride != 0) continue;
    tics.emplace_back(place, one_day && time.size() > kMinute
                                 ? time.substr(kDay + 1, kMinute - kDay - 1)
                                 : time.substr(0, kDay));
  }
  return tics;
}

PlotSeries values_of(const HistoryGroup& group, const std::map<std::string, double>& places) {
  PlotSeries series;
  series.title = title_of(group);
  series.with_points = true;
  for (const HistoryRow& row : group.rows) {
    if (!row.value) continue;
    series.x.push_back(places.at(row.run));
    series.y.push_back(*row.value);
  }
  return series;
}

// Horizontal pieces, one per level, joined where it changes.
PlotSeries levels_of(const HistoryGroup& group, const std::map<std::string, double>& places) {
  PlotSeries series;
  series.title = "mean of a level";
  double sum = 0, first = 0, last = 0;
  std::size_t count = 0;
  const auto close = [&] {
    if (count == 0) return;
    const double mean = sum / static_cast<double>(count);
    series.x.insert(series.x.end(), {first, last});
    series.y.insert(series.y.end(), {mean, mean});
    sum = 0;
    count = 0;
  };
  for (const HistoryRow& row : group.rows) {
    if (!row.value) continue;
    if (row.level) close();
    last = places.at(row.run);
    if (count == 0) first = last;
    sum += *row.value;
    ++count;
  }
  close();
  return series;
}

Result<void> check_one_axis(const History& history) {
  std::set<std::string> units, clocks;
  bool has_values = false;
  for (const HistoryGroup& group : history.groups) {
    units.insert(group.unit);
    clocks.insert(group.clock);
    for (const HistoryRow& row : group.rows) has_values = has_values || row.value.has_value();
  }
  if (!has_values)
    return bad_input(fmt::format("--plot: \"{}\" has no value to draw", history.metric));
  if (clocks.size() > 1)
    return bad_input(
        fmt::format("--plot: \"{}\" is of the clocks {}, which share no axis; choose "
                    "one with --clock",
                    history.metric, fmt::join(clocks, " and ")));
  if (units.size() > 1)
    return bad_input(
        fmt::format("--plot: \"{}\" is in the units {}; choose with --name or --device",
                    history.metric, fmt::join(units, " and ")));
  if (history.groups.size() > kMostGroups)
    return bad_input(fmt::format(
        "--plot: {} groups of \"{}\" are more than can be told apart; choose at most {} with "
        "--name, --device, --seed or --clock",
        history.groups.size(), history.metric, kMostGroups));
  return {};
}

}  // namespace

Result<Plot> history_plot(const History& history) {
  NB_TRY_VOID(check_one_axis(history));
  const auto places = places_of(history);
  Plot plot;
  plot.name = "history";
  plot.title = history.metric;
  const std::string& unit = history.groups.front().unit;
  plot.y_label =
      unit.empty() || unit == "1" ? history.metric : fmt::format("{} ({})", history.metric, unit);
  const auto by_place = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [first, last] = std::minmax_element(places.begin(), places.end(), by_place);
  plot.x_label = first == last ? "run 1: " + first->first
                               : fmt::format("run, in the order of time (1: {}, {}: {})",
                                             first->first, places.size(), last->first);
  plot.x_tics = dates_of(history, places);
  for (const HistoryGroup& group : history.groups) {
    // Drawn solid and dashed in turn (plot_script.cpp): values, then their levels.
    plot.series.push_back(values_of(group, places));
    plot.series.push_back(levels_of(group, places));
  }
  return plot;
}

}  // namespace nb
