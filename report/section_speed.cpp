// Time and memory. Simulated and host clocks never share a plot or a table.
#include <fmt/core.h>

#include <algorithm>

#include "report/sections.hpp"
#include "results/format.hpp"
#include "results/metric_names.hpp"

namespace nb {
namespace {

struct Kind {
  const char* kind;
  const char* words;
};
constexpr Kind kKinds[] = {{"train", "executed training"}, {"predict", "dry prediction"}};

// Axis units, the largest first: the largest value of a plot picks the one that keeps it above 1.
struct Scale {
  const char* axis;
  double unit;  // axis value 1 is that much
};
struct Quantity {
  const char* metric;
  const char* words;
  Scale scales[3];
};
constexpr Quantity kThroughput = {
    metric::kThroughput,
    "simulated throughput",
    {{"million tokens/s", 1e6}, {"thousand tokens/s", 1e3}, {"tokens/s", 1}}};
constexpr Quantity kMemory = {metric::kPeakMemory,
                              "simulated peak memory",
                              {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}};

const Scale& scale_of(const Quantity& quantity, double largest) {
  for (const Scale& scale : quantity.scales)
    if (largest >= scale.unit) return scale;
  return quantity.scales[2];
}

const Metric* simulated(const Record& record, const char* name) {
  const Metric* metric = find_metric(record, name);
  return metric != nullptr && metric->value && metric->clock == Clock::kSim ? metric : nullptr;
}

// A category per node, a bar per device and seed.
void add_bars(std::vector<Block>& blocks, const std::vector<const StoredRecord*>& records,
              const Kind& kind, const Quantity& quantity) {
  Plot plot;
  plot.kind = PlotKind::kBars;
  plot.name = fmt::format("{}_{}", quantity.metric, kind.kind);
  plot.title = fmt::format("{}, {}", quantity.words, kind.words);
  double largest = 0;
  for (const StoredRecord* stored : records)
    if (const Metric* metric = simulated(stored->record, quantity.metric))
      largest = std::max(largest, *metric->value);
  const Scale& scale = scale_of(quantity, largest);
  plot.x_label = scale.axis;
  for (const StoredRecord* stored : records)
    if (simulated(stored->record, quantity.metric) != nullptr &&
        std::find(plot.categories.begin(), plot.categories.end(), stored->record.name) ==
            plot.categories.end())
      plot.categories.push_back(stored->record.name);
  for (const StoredRecord* stored : records) {
    const Metric* metric = simulated(stored->record, quantity.metric);
    if (metric == nullptr) continue;
    const std::string title = series_title(stored->record);
    auto series = std::find_if(plot.series.begin(), plot.series.end(),
                               [&](const PlotSeries& s) { return s.title == title; });
    if (series == plot.series.end()) {
      PlotSeries fresh;
      fresh.title = title;
      fresh.values.resize(plot.categories.size());
      fresh.labels.resize(plot.categories.size());
      series = plot.series.insert(plot.series.end(), std::move(fresh));
    }
    const auto at = std::find(plot.categories.begin(), plot.categories.end(), stored->record.name);
    const auto c = static_cast<std::size_t>(at - plot.categories.begin());
    series->values[c] = *metric->value / scale.unit;
    series->labels[c] = value_text(*metric);
  }
  if (!plot.series.empty()) blocks.emplace_back(PlotBlock{std::move(plot), {}});
}

// Every metric of these records on that clock, one row each.
TextTable metric_table(const std::vector<const StoredRecord*>& records, bool host) {
  TextTable table{{"node", "device", "metric", "value", "n", "clock"}, {}};
  for (const StoredRecord* stored : records) {
    const Record& r = stored->record;
    for (const Metric& metric : host ? r.host_metrics : r.metrics) {
      if (!host && metric.clock != Clock::kSim) continue;
      table.rows.push_back({r.name, series_title(r), metric.name, value_text(metric),
                            metric.n == 0 ? "" : with_commas(metric.n),
                            std::string(name(metric.clock))});
    }
  }
  return table;
}

// Predictions of whole stages, one row each; nothing where none says its steps.
TextTable stage_table(const std::vector<const StoredRecord*>& records) {
  TextTable table{{"prediction", "device", "fits", "rows a card", "step", "steps", "tokens",
                   "hours", "card-hours", "throughput", "peak memory"},
                  {}};
  for (const StoredRecord* stored : records) {
    const Record& r = stored->record;
    const auto value = [&](const char* name) {
      const Metric* metric = find_metric(r, name);
      return metric != nullptr ? metric->value : std::nullopt;
    };
    const auto text = [&](const char* name) {
      const Metric* metric = find_metric(r, name);
      return metric != nullptr && metric->value ? plain_value(*metric->value, metric->unit) : "—";
    };
    if (!value("steps")) continue;
    const auto time_ns = value("stage_time_ns");
    const auto largest = value("largest_device_batch_size");
    table.rows.push_back(
        {r.name, r.device,
         largest ? fmt::format("no; {:.0f} rows would", *largest) : std::string("yes"),
         text("device_batch_size"), text(metric::kStepTime), text("steps"), text("tokens"),
         time_ns ? fmt::format("{:.2f}", *time_ns / 3600e9) : "—", text("card_hours"),
         text(metric::kThroughput), text(metric::kPeakMemory)});
  }
  return table;
}

void add_table(std::vector<Block>& blocks, const std::string& caption, const TextTable& table) {
  if (!table.rows.empty()) blocks.emplace_back(TableBlock{caption, table});
}

}  // namespace

std::vector<Block> speed_blocks(const ReportContext& context) {
  std::vector<Block> blocks;
  for (const Kind& kind : kKinds) {
    const auto records = records_of(*context.input.run, kind.kind);
    add_bars(blocks, records, kind, kThroughput);
    add_bars(blocks, records, kind, kMemory);
    add_table(blocks, "Whole stages on the simulated clock (predicted, not measured)",
              stage_table(records));
    add_table(blocks, fmt::format("Simulated clock, {}", kind.words), metric_table(records, false));
    add_table(
        blocks,
        fmt::format("Host clock, {} (not comparable with the above, never gated)", kind.words),
        metric_table(records, true));
  }
  if (blocks.empty()) return {Paragraph{"No node of this run measured time or memory."}};
  return blocks;
}

std::vector<Block> benchmark_blocks(const ReportContext& context) {
  auto records = records_of(*context.input.run, "micro");
  const auto collectives = records_of(*context.input.run, "collective");
  records.insert(records.end(), collectives.begin(), collectives.end());
  if (records.empty()) return {Paragraph{"No microbenchmark ran."}};
  std::vector<Block> blocks;
  add_table(blocks, "Simulated clock", metric_table(records, false));
  add_table(blocks, "Host clock (never gated)", metric_table(records, true));
  if (blocks.empty()) return {Paragraph{"The microbenchmarks recorded no metric."}};
  return blocks;
}

}  // namespace nb
