#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "report/sections.hpp"
#include "results/format.hpp"
#include "results/metric_names.hpp"

namespace nb {
namespace {

// Values of a column where there are any.
PlotSeries series_of(const ReportContext::Curve& curve, const std::string& column) {
  PlotSeries line;
  line.title = series_title(curve.stored->record);
  const auto at = curve.series.column(column);
  if (!at) return line;
  for (std::size_t row = 0; row < curve.series.steps.size(); ++row)
    if (const auto& value = curve.series.values[*at][row]) {
      line.x.push_back(static_cast<double>(curve.series.steps[row]));
      line.y.push_back(*value);
    }
  line.with_points = line.x.size() <= 40;
  return line;
}

std::string file_part(std::string name) {
  for (char& c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
  return name;
}

void add_plot(std::vector<Block>& blocks, const std::string& node,
              const std::vector<const ReportContext::Curve*>& curves, const std::string& column,
              const std::string& quantity, const std::string& unit) {
  Plot plot;
  plot.name = file_part(column + "_" + node);
  plot.title = fmt::format("{}: {}", node, quantity);
  plot.x_label = "step";
  plot.y_label = fmt::format("{} ({})", quantity, unit);
  for (const auto* curve : curves)
    if (PlotSeries line = series_of(*curve, column); !line.x.empty())
      plot.series.push_back(std::move(line));
  if (!plot.series.empty()) blocks.emplace_back(PlotBlock{std::move(plot), {}});
}

// Loss of each later curve minus the first one's of the same seed: what two devices' arithmetic
// does to one recipe.
void add_difference_plot(std::vector<Block>& blocks, const std::string& node,
                         const std::vector<const ReportContext::Curve*>& curves) {
  Plot plot;
  plot.name = file_part("loss_difference_" + node);
  plot.title = node + ": training loss, difference between devices";
  plot.x_label = "step";
  plot.y_label = "loss difference (nat)";
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Record& later = curves[i]->stored->record;
    const auto first =
        std::find_if(curves.begin(), curves.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const auto* c) { return c->stored->record.seed == later.seed; });
    if (first == curves.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const PlotSeries a = series_of(**first, metric::kSeriesLoss);
    const PlotSeries b = series_of(*curves[i], metric::kSeriesLoss);
    PlotSeries line;
    line.title = fmt::format("{} − {}", series_title(later), (*first)->stored->record.device);
    for (std::size_t j = 0, k = 0; j < a.x.size() && k < b.x.size();) {
      if (a.x[j] == b.x[k]) {
        line.x.push_back(a.x[j]);
        line.y.push_back(b.y[k++] - a.y[j++]);
      } else {
        ++(a.x[j] < b.x[k] ? j : k);
      }
    }
    if (!line.x.empty()) plot.series.push_back(std::move(line));
  }
  if (plot.series.empty()) return;
  plot.note = "Same seed and data: the difference is due to the devices' arithmetic.";
  blocks.emplace_back(PlotBlock{std::move(plot), {}});
}

std::string metric_cell(const Record& record, const char* name) {
  const Metric* metric = find_metric(record, name);
  return metric == nullptr ? "—" : value_text(*metric);
}

}  // namespace

std::vector<Block> training_blocks(const ReportContext& context) {
  const auto trained = records_of(*context.input.run, "train");
  if (trained.empty()) return {Paragraph{"No training node finished in this run."}};
  std::vector<Block> blocks;
  TextTable table{{"node", "device", "seed", "training loss", "validation", "weights"}, {}};
  for (const StoredRecord* stored : trained) {
    const Record& r = stored->record;
    const auto weights = r.subject.find("weights");
    table.rows.push_back({r.name, r.device, r.seed ? fmt::format("{}", *r.seed) : "—",
                          metric_cell(r, metric::kTrainLoss), metric_cell(r, metric::kValBpb),
                          weights == r.subject.end() ? "—" : weights->second.substr(0, 12)});
  }
  blocks.emplace_back(TableBlock{"Final state of training (equal digests mean equal bits)", table});
  std::vector<std::string> nodes;  // in the order of the records
  std::map<std::string, std::vector<const ReportContext::Curve*>> by_node;
  for (const auto& curve : context.curves) {
    const std::string& node = curve.stored->record.name;
    if (!by_node.contains(node)) nodes.push_back(node);
    by_node[node].push_back(&curve);
  }
  for (const std::string& node : nodes) {
    add_plot(blocks, node, by_node[node], metric::kSeriesLoss, "training loss", "nat");
    add_difference_plot(blocks, node, by_node[node]);
    add_plot(blocks, node, by_node[node], metric::kSeriesValBpb, "validation bits per byte",
             "bit/byte");
  }
  if (nodes.empty())
    blocks.emplace_back(Paragraph{"No curves: no training node has a readable steps.csv."});
  if (!context.unreadable.empty()) blocks.emplace_back(BulletList{context.unreadable});
  return blocks;
}

}  // namespace nb
