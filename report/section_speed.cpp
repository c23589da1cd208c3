// Throughput and memory. Simulated, device and host clocks never share a plot or a table.
#include <fmt/core.h>

#include <algorithm>

#include "report/sections.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

struct Kind {
  const char* kind;
  Phrase words;
};
constexpr Kind kKinds[] = {{"train", "kind_train"}, {"predict", "kind_predict"}};

// Axis units, the largest first: the largest value of a plot picks the one that keeps it above 1.
struct Scale {
  const char* axis;
  double unit;  // axis value 1 is that much
};
struct Quantity {
  const char* metric;
  Phrase title;
  Scale scales[3];
};
constexpr Quantity kThroughput = {
    metric::kThroughput,
    "plot_throughput",
    {{"million tokens/s", 1e6}, {"thousand tokens/s", 1e3}, {"tokens/s", 1}}};
constexpr Quantity kMemory = {
    metric::kPeakMemory, "plot_memory", {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}};

const Scale& scale_of(const Quantity& quantity, double largest) {
  for (const Scale& scale : quantity.scales)
    if (largest >= scale.unit) return scale;
  return quantity.scales[2];
}

const Metric* on_clock(const Record& record, const char* name, Clock clock) {
  for (const auto* list : {&record.metrics, &record.host_metrics})
    for (const Metric& metric : *list)
      if (metric.name == name && metric.clock == clock && metric.value) return &metric;
  return nullptr;
}

// Seeds of one node on one device, whose simulated numbers are mostly the same to the last bit.
struct Node {
  std::string name, title;
  std::vector<const Record*> seeds;
};
std::vector<Node> nodes_of(const Words& say, const std::vector<const StoredRecord*>& records) {
  std::vector<Node> nodes;
  for (const StoredRecord* stored : records) {
    Record unseeded = stored->record;
    unseeded.seed.reset();
    const std::string title = series_title(say, unseeded);
    auto at = std::ranges::find_if(
        nodes, [&](const Node& node) { return node.name == unseeded.name && node.title == title; });
    if (at == nodes.end()) at = nodes.insert(nodes.end(), {unseeded.name, title, {}});
    at->seeds.push_back(&stored->record);
  }
  return nodes;
}

std::vector<double> values_of(const Node& node, const char* name, Clock clock) {
  std::vector<double> values;
  for (const Record* record : node.seeds)
    if (const Metric* metric = on_clock(*record, name, clock)) values.push_back(*metric->value);
  return values;
}

// One value, or the median with the smallest and largest of several.
std::string summary(std::vector<double> values, const std::string& unit) {
  if (values.empty()) return "—";
  const auto [low, high] = std::ranges::minmax(values);
  if (low == high) return value_text(low, unit);
  return value_text(median(values), unit) + "\n" + value_text(low, unit) + " – " +
         value_text(high, unit);
}

// A category a node, a bar a device.
void add_bars(std::vector<Block>& blocks, const Words& say, const std::vector<Node>& nodes,
              const Kind& kind, const Quantity& quantity) {
  Plot plot;
  plot.kind = PlotKind::kBars;
  plot.name = fmt::format("{}_{}", quantity.metric, kind.kind);
  plot.title = say(quantity.title, say(kind.words));
  double largest = 0;
  std::string unit;
  for (const Node& node : nodes)
    for (const double value : values_of(node, quantity.metric, Clock::kSim)) {
      largest = std::max(largest, value);
      unit = on_clock(*node.seeds.front(), quantity.metric, Clock::kSim)->unit;
      if (std::ranges::find(plot.categories, node.name) == plot.categories.end())
        plot.categories.push_back(node.name);
    }
  const Scale& scale = scale_of(quantity, largest);
  plot.x_label = scale.axis;
  for (const Node& node : nodes) {
    const auto values = values_of(node, quantity.metric, Clock::kSim);
    if (values.empty()) continue;
    auto series = std::ranges::find_if(plot.series,
                                       [&](const PlotSeries& s) { return s.title == node.title; });
    if (series == plot.series.end()) {
      PlotSeries fresh;
      fresh.title = node.title;
      fresh.values.resize(plot.categories.size());
      fresh.labels.resize(plot.categories.size());
      series = plot.series.insert(plot.series.end(), std::move(fresh));
    }
    const auto at = std::ranges::find(plot.categories, node.name);
    const auto c = static_cast<std::size_t>(at - plot.categories.begin());
    series->values[c] = median(values) / scale.unit;
    series->labels[c] = value_text(median(values), unit);
  }
  if (!plot.series.empty()) blocks.emplace_back(PlotBlock{std::move(plot), {}});
}

void add_table(std::vector<Block>& blocks, const std::string& caption, TextTable table,
               bool folded = false) {
  if (!table.rows.empty()) blocks.emplace_back(TableBlock{caption, std::move(table), folded});
}

// A row per node and device.
TextTable node_table(const Words& say, const std::vector<Node>& nodes, Clock clock) {
  TextTable table{{say("node"), say("device"), say("step_time"), say("throughput"), "MFU",
                   say("peak_memory"), say("seeds")},
                  {}};
  for (const Node& node : nodes) {
    const auto cell = [&](const char* name, const char* unit) {
      return summary(values_of(node, name, clock), unit);
    };
    const auto time = cell(metric::kStepTime, "ns"), rate = cell(metric::kThroughput, "tok/s"),
               mfu = cell(metric::kMfu, "1"), memory = cell(metric::kPeakMemory, "byte");
    if (time == "—" && rate == "—" && memory == "—") continue;
    table.rows.push_back(
        {node.name, node.title, time, rate, mfu, memory, fmt::format("{}", node.seeds.size())});
  }
  return table;
}

// Every metric of that clock, a row each.
TextTable metric_table(const Words& say, const std::vector<Node>& nodes, Clock clock) {
  TextTable table{{say("node"), say("device"), say("metric"), say("value"), say("seeds")}, {}};
  for (const Node& node : nodes) {
    std::vector<const Metric*> metrics;
    for (const auto* list : {&node.seeds.front()->metrics, &node.seeds.front()->host_metrics})
      for (const Metric& metric : *list)
        if (metric.clock == clock) metrics.push_back(&metric);
    for (const Metric* metric : metrics)
      table.rows.push_back(
          {node.name, node.title, metric->name,
           metric->value ? summary(values_of(node, metric->name.c_str(), clock), metric->unit)
                         : value_text(*metric),
           fmt::format("{}", node.seeds.size())});
  }
  return table;
}

// Predictions of whole stages, one row each; nothing where none says its steps.
TextTable stage_table(const Words& say, const std::vector<const StoredRecord*>& records) {
  TextTable table{{say("prediction"), say("device"), say("fits"), say("rows_a_card"), say("step"),
                   say("steps"), say("tokens"), say("hours"), say("card_hours")},
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
        {r.name, r.device, largest ? say("fits_not", fmt::format("{:.0f}", *largest)) : say("yes"),
         text("device_batch_size"), text(metric::kStepTime), text("steps"), text("tokens"),
         time_ns ? fmt::format("{:.2f}", *time_ns / 3600e9) : "—", text("card_hours")});
  }
  return table;
}

}  // namespace

std::vector<Block> speed_blocks(const ReportContext& context) {
  const Words& say = context.say;
  std::vector<Block> blocks;
  for (const Kind& kind : kKinds) {
    const auto records = records_of(*context.input.run, kind.kind);
    const auto nodes = nodes_of(say, records);
    const std::string words = say(kind.words);
    add_bars(blocks, say, nodes, kind, kThroughput);
    add_bars(blocks, say, nodes, kind, kMemory);
    add_table(blocks, say("clock_sim", words), node_table(say, nodes, Clock::kSim));
    add_table(blocks, say("whole_stages"), stage_table(say, records));
    add_table(blocks, say("clock_device", words), node_table(say, nodes, Clock::kDevice));
    add_table(blocks, say("clock_host", words), metric_table(say, nodes, Clock::kHost), true);
    add_table(blocks, say("every_sim", words), metric_table(say, nodes, Clock::kSim), true);
    add_table(blocks, say("every_device", words), metric_table(say, nodes, Clock::kDevice), true);
  }
  if (blocks.empty()) return {Paragraph{say("no_speed")}};
  blocks.insert(blocks.begin(), Paragraph{say("clocks")});
  return blocks;
}

}  // namespace nb
