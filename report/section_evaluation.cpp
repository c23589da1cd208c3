#include <fmt/core.h>

#include <algorithm>

#include "report/sections.hpp"
#include "results/format.hpp"
#include "results/metric_names.hpp"

namespace nb {
namespace {

bool is_accuracy(const Metric& metric) {
  return metric.value &&
         metric.name == metric::of_task(task_of_metric(metric.name), metric::kAccuracy);
}

// Wilson where the record has no interval of its own.
std::optional<Interval> interval_of(const Metric& metric) {
  if (metric.low && metric.high) return Interval{*metric.low, *metric.high};
  if (metric.n <= 0 || *metric.value < 0 || *metric.value > 1) return std::nullopt;
  const double right = *metric.value * static_cast<double>(metric.n);
  return wilson(static_cast<std::int64_t>(right + 0.5), metric.n);
}

// Chance r from accuracy a and centred c = (a − r)/(1 − r); nothing where either says too little.
std::optional<double> chance_of(const Record& record, const Metric& accuracy) {
  const Metric* centred =
      find_metric(record, metric::of_task(task_of_metric(accuracy.name), metric::kCentred));
  if (centred == nullptr || !centred->value || *centred->value >= 1) return std::nullopt;
  const double chance = 1 - (1 - *accuracy.value) / (1 - *centred->value);
  return std::max(0.0, chance);
}

void add_plot(std::vector<Block>& blocks, const std::string& node,
              const std::vector<const StoredRecord*>& records) {
  Plot plot;
  plot.kind = PlotKind::kIntervals;
  plot.name = "accuracy_" + node;
  for (char& c : plot.name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
  plot.title = node + ": accuracy";
  plot.x_label = "accuracy (share of items), 95 % interval over items";
  for (const StoredRecord* stored : records)
    for (const Metric& metric : stored->record.metrics)
      if (const std::string task = task_of_metric(metric.name);
          is_accuracy(metric) &&
          std::find(plot.categories.begin(), plot.categories.end(), task) == plot.categories.end())
        plot.categories.push_back(task);
  PlotSeries chance;
  chance.title = "chance";
  chance.is_reference = true;
  chance.values.resize(plot.categories.size());
  for (const StoredRecord* stored : records) {
    PlotSeries series;
    series.title = series_title(stored->record);
    series.values.resize(plot.categories.size());
    series.intervals.resize(plot.categories.size());
    for (const Metric& metric : stored->record.metrics) {
      if (!is_accuracy(metric)) continue;
      const auto at =
          std::find(plot.categories.begin(), plot.categories.end(), task_of_metric(metric.name));
      const auto c = static_cast<std::size_t>(at - plot.categories.begin());
      series.values[c] = metric.value;
      series.intervals[c] = interval_of(metric);
      if (const auto r = chance_of(stored->record, metric)) chance.values[c] = r;
    }
    plot.series.push_back(std::move(series));
  }
  if (plot.categories.empty()) return;
  if (std::any_of(chance.values.begin(), chance.values.end(),
                  [](const auto& v) { return v.has_value(); }))
    plot.series.push_back(std::move(chance));
  blocks.emplace_back(PlotBlock{std::move(plot), {}});
}

}  // namespace

std::vector<Block> evaluation_blocks(const ReportContext& context) {
  const auto records = records_of(*context.input.run, "eval");
  if (records.empty()) return {Paragraph{"No evaluation finished in this run."}};
  std::vector<Block> blocks;
  std::vector<std::string> nodes;
  for (const StoredRecord* stored : records)
    if (std::find(nodes.begin(), nodes.end(), stored->record.name) == nodes.end())
      nodes.push_back(stored->record.name);
  for (const std::string& node : nodes) {
    std::vector<const StoredRecord*> of_node;
    for (const StoredRecord* stored : records)
      if (stored->record.name == node) of_node.push_back(stored);
    add_plot(blocks, node, of_node);
  }
  TextTable table{{"node", "evaluated on", "metric", "value", "95 % over items", "chance", "items"},
                  {}};
  for (const StoredRecord* stored : records)
    for (const Metric& metric : stored->record.metrics) {
      const auto interval = is_accuracy(metric) ? interval_of(metric) : std::nullopt;
      const auto chance = is_accuracy(metric) ? chance_of(stored->record, metric) : std::nullopt;
      table.rows.push_back(
          {stored->record.name, series_title(stored->record), metric.name, value_text(metric),
           interval ? fmt::format("[{:.4f}, {:.4f}]", interval->low, interval->high) : "",
           chance ? fmt::format("{:.4f}", *chance) : "",
           metric.n == 0 ? "" : with_commas(metric.n)});
    }
  blocks.emplace_back(
      TableBlock{"Scores (tasks named mw/… are generated and do not measure real ability)", table});
  return blocks;
}

}  // namespace nb
