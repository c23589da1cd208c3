#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <span>

#include "report/sections.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// A plot has 860 pixels: longer curves are drawn as means of equally many steps.
constexpr std::size_t kMaxPoints = 430;

// Values of a column where there are any.
PlotSeries series_of(const Words& say, const ReportContext::Curve& curve,
                     const std::string& column) {
  PlotSeries line;
  line.title = series_title(say, curve.stored->record);
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

// Steps that became one point; 1: the curve is as it was.
std::size_t thin(PlotSeries& line) {
  const std::size_t width = (line.x.size() + kMaxPoints - 1) / kMaxPoints;
  if (width <= 1) return 1;
  std::vector<double> x, y;
  for (std::size_t begin = 0; begin < line.x.size(); begin += width) {
    const std::size_t end = std::min(begin + width, line.x.size());
    const std::span xs(line.x.data() + begin, end - begin), ys(line.y.data() + begin, end - begin);
    x.push_back(mean(xs));
    y.push_back(mean(ys));
  }
  line.x = std::move(x);
  line.y = std::move(y);
  return width;
}

void add_line_plot(std::vector<Block>& blocks, const Words& say, Plot plot) {
  if (plot.series.empty()) return;
  std::size_t width = 1;
  for (PlotSeries& line : plot.series) width = std::max(width, thin(line));
  if (width > 1) plot.note += (plot.note.empty() ? "" : " ") + say("curve_thinned", width);
  blocks.emplace_back(PlotBlock{std::move(plot), {}});
}

void add_plot(std::vector<Block>& blocks, const Words& say, const std::string& node,
              const std::vector<const ReportContext::Curve*>& curves, const std::string& column,
              const std::string& quantity, const std::string& unit) {
  Plot plot;
  plot.name = file_part(column + "_" + node);
  plot.title = fmt::format("{}: {}", node, quantity);
  plot.x_label = say("step");
  plot.y_label = fmt::format("{} ({})", quantity, unit);
  plot.is_log_y = true;
  for (const auto* curve : curves)
    if (PlotSeries line = series_of(say, *curve, column); !line.x.empty())
      plot.series.push_back(std::move(line));
  add_line_plot(blocks, say, std::move(plot));
}

// Loss of each later curve minus the first one's of the same seed: what two devices' arithmetic
// does to one recipe.
void add_difference_plot(std::vector<Block>& blocks, const Words& say, const std::string& node,
                         const std::vector<const ReportContext::Curve*>& curves) {
  Plot plot;
  plot.name = file_part("loss_difference_" + node);
  plot.title = say("plot_loss_difference", node);
  plot.x_label = say("step");
  plot.y_label = say("loss_difference");
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Record& later = curves[i]->stored->record;
    const auto first =
        std::find_if(curves.begin(), curves.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const auto* c) { return c->stored->record.seed == later.seed; });
    if (first == curves.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const PlotSeries a = series_of(say, **first, metric::kSeriesLoss);
    const PlotSeries b = series_of(say, *curves[i], metric::kSeriesLoss);
    PlotSeries line;
    line.title = fmt::format("{} − {}", series_title(say, later), (*first)->stored->record.device);
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
  plot.note = say("same_seed_and_data");
  add_line_plot(blocks, say, std::move(plot));
}

std::string metric_cell(const Record& record, const char* name) {
  const Metric* metric = find_metric(record, name);
  return metric == nullptr ? "—" : value_text(*metric);
}

}  // namespace

std::vector<Block> training_blocks(const ReportContext& context) {
  const Words& say = context.say;
  const auto trained = records_of(*context.input.run, "train");
  if (trained.empty()) return {Paragraph{say("no_training")}};
  std::vector<Block> blocks;
  std::vector<std::string> nodes;  // in the order of the records
  std::map<std::string, std::vector<const ReportContext::Curve*>> by_node;
  for (const auto& curve : context.curves) {
    const std::string& node = curve.stored->record.name;
    if (!by_node.contains(node)) nodes.push_back(node);
    by_node[node].push_back(&curve);
  }
  for (const std::string& node : nodes) {
    add_plot(blocks, say, node, by_node[node], metric::kSeriesLoss, say("training_loss"), "nat");
    add_difference_plot(blocks, say, node, by_node[node]);
    add_plot(blocks, say, node, by_node[node], metric::kSeriesValBpb, say("validation_bpb"),
             "bit/byte");
  }
  if (nodes.empty()) blocks.emplace_back(Paragraph{say("no_curves")});
  if (!context.unreadable.empty()) blocks.emplace_back(BulletList{context.unreadable});
  TextTable table{{say("node"), say("device"), say("seed"), say("training_loss"), say("validation"),
                   say("weights")},
                  {}};
  for (const StoredRecord* stored : trained) {
    const Record& r = stored->record;
    const auto weights = r.subject.find("weights");
    table.rows.push_back({r.name, r.device, r.seed ? fmt::format("{}", *r.seed) : "—",
                          metric_cell(r, metric::kTrainLoss), metric_cell(r, metric::kValBpb),
                          weights == r.subject.end() ? "—" : weights->second.substr(0, 12)});
  }
  const bool folded = table.rows.size() > 12;
  blocks.emplace_back(TableBlock{say("final_state"), std::move(table), folded});
  return blocks;
}

}  // namespace nb
