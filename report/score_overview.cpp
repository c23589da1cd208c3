#include "report/score_overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/head_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// More tasks than that stand below each other.
constexpr std::size_t kMaxTaskColumns = 9;

std::string number(double value, const std::string& unit) {
  const std::string digits = fmt::format("{:.{}f}", std::abs(value), unit == "1" ? 3 : 4);
  return (value < 0 ? "−" : "") + digits;
}

std::string shown_cell(const Words& say, Shown shown) {
  if (shown == Shown::kEqual) return say("shown_equal");
  if (shown == Shown::kBetter) return say("cell_better");
  return shown == Shown::kWorse ? say("cell_worse") : say("shown_not");
}

std::string cell_text(const Words& say, const ScoreCell& cell) {
  if (!cell.raw) return "—";
  std::string text = number(*cell.raw, cell.unit);
  if (cell.centred)
    text += "\n" + say("cell_centred", (*cell.centred < 0 ? "" : "+") + number(*cell.centred, "1"));
  if (cell.interval)
    text += fmt::format("\n[{}, {}]", number(cell.interval->low, cell.unit),
                        number(cell.interval->high, cell.unit));
  if (cell.verdict) text += "\n" + std::string(name(*cell.verdict));
  if (cell.shown && *cell.shown != Shown::kNothing) text += "\n" + shown_cell(say, *cell.shown);
  return text;
}

std::string model_text(const ScoreModel& model) {
  std::string text = model.name;
  if (!model.side.empty()) text = model.side + ": " + text;
  return model.device.empty() ? text : text + "\n" + model.device;
}

std::string caption_of(const ReportContext& context, const ScoreTable& table) {
  const Words& say = context.say;
  bool over_seeds = false, has_shown = false;
  std::string against;
  for (std::size_t m = 0; m < table.models.size(); ++m)
    for (const ScoreCell& cell : table.cells[m]) {
      over_seeds = over_seeds || cell.seeds > 1;
      if (cell.shown) {
        has_shown = true;
        against = table.models[m].against;
      }
    }
  std::string text = say(over_seeds ? Phrase("scores_over_seeds") : Phrase("scores_over_items"));
  if (context.input.gate) text += say("scores_verdict");
  if (has_shown) text += say("scores_shown", against);
  return text;
}

TableBlock score_table(const ReportContext& context, const ScoreTable& scores) {
  const Words& say = context.say;
  TableBlock block;
  block.caption = caption_of(context, scores);
  TextTable& table = block.table;
  if (scores.tasks.size() <= kMaxTaskColumns) {
    table.header = {say("model")};
    table.header.insert(table.header.end(), scores.tasks.begin(), scores.tasks.end());
    for (std::size_t m = 0; m < scores.models.size(); ++m) {
      auto& row = table.rows.emplace_back();
      row.push_back(model_text(scores.models[m]));
      for (const ScoreCell& cell : scores.cells[m]) row.push_back(cell_text(say, cell));
    }
    return block;
  }
  table.header = {say("task")};
  for (const ScoreModel& model : scores.models) table.header.push_back(model_text(model));
  for (std::size_t t = 0; t < scores.tasks.size(); ++t) {
    auto& row = table.rows.emplace_back();
    row.push_back(scores.tasks[t]);
    for (std::size_t m = 0; m < scores.models.size(); ++m)
      row.push_back(cell_text(say, scores.cells[m][t]));
  }
  return block;
}

constexpr std::size_t kMaxPlotRows = 26;

// Scores whose difference is not nothing, the largest where there are many, in their own order.
std::vector<DifferenceRow> plotted(const Comparison& c) {
  std::vector<DifferenceRow> rows = own_scores(c);
  std::erase_if(
      rows, [](const DifferenceRow& row) { return row.unit != "1" || row.shown == Shown::kEqual; });
  if (rows.size() <= kMaxPlotRows) return rows;
  std::vector<double> sizes;
  for (const DifferenceRow& row : rows) sizes.push_back(std::abs(row.difference));
  std::ranges::nth_element(sizes, sizes.begin() + kMaxPlotRows - 1, std::greater<>());
  const double smallest = sizes[kMaxPlotRows - 1];
  std::erase_if(rows,
                [&](const DifferenceRow& row) { return std::abs(row.difference) < smallest; });
  return rows;
}

// Differences with their intervals, zero marked.
std::optional<Plot> difference_plot(const Words& say, const Comparison& c) {
  Plot plot;
  plot.kind = PlotKind::kIntervals;
  plot.name = "differences";
  plot.title =
      say("plot_differences", side_label(c.label_b, c.label_a), side_label(c.label_a, c.label_b));
  plot.x_label = say("plot_differences_axis");
  PlotSeries series, zero;
  series.title = side_label(c.label_b, c.label_a) + " − " + side_label(c.label_a, c.label_b);
  zero.title = say("no_difference");
  zero.is_reference = true;
  for (const DifferenceRow& row : plotted(c)) {
    std::string node = row.node;
    if (node.starts_with("eval ")) node.erase(0, 5);
    plot.categories.push_back(node + "  " + task_of_score(row.metric));
    series.values.emplace_back(row.difference);
    series.intervals.push_back(row.interval95);
    zero.values.emplace_back(0.0);
  }
  if (plot.categories.empty()) return std::nullopt;
  plot.series = {std::move(series), std::move(zero)};
  plot.note = say("plot_differences_note");
  if (plot.categories.size() >= kMaxPlotRows)
    plot.note += " " + say("plot_differences_largest", plot.categories.size());
  return plot;
}

std::optional<Plot> score_plot(const Words& say, const std::vector<ScoreTable>& tables) {
  Plot plot;
  plot.kind = PlotKind::kIntervals;
  plot.name = "scores";
  plot.title = say("plot_scores");
  plot.x_label = say("plot_scores_axis");
  PlotSeries series, chance;
  chance.title = say("chance");
  chance.is_reference = true;
  series.title = say("score");
  for (const ScoreTable& table : tables)
    for (std::size_t m = 0; m < table.models.size(); ++m)
      for (std::size_t t = 0; t < table.tasks.size(); ++t) {
        const ScoreCell& cell = table.cells[m][t];
        if (!cell.raw || cell.unit != "1") continue;
        plot.categories.push_back(table.models[m].name + " " + table.models[m].device + "  " +
                                  table.tasks[t]);
        series.values.push_back(cell.raw);
        series.intervals.push_back(cell.interval);
        chance.values.push_back(cell.chance);
      }
  if (plot.categories.empty()) return std::nullopt;
  plot.series.push_back(std::move(series));
  if (std::ranges::any_of(chance.values, [](const auto& v) { return v.has_value(); }))
    plot.series.push_back(std::move(chance));
  return plot;
}

}  // namespace

std::vector<Block> score_overview(const ReportContext& context) {
  const Words& say = context.say;
  const auto& comparisons = context.input.comparisons;
  std::vector<Block> blocks;
  const bool imported = std::ranges::any_of(comparisons, [](const Comparison& c) {
    return !c.scores.empty() && std::ranges::any_of(c.pairs, &RecordPair::imported);
  });
  if (!imported)
    for (const ScoreTable& table : context.scores) blocks.emplace_back(score_table(context, table));
  // One plot: of what the verdict is about.
  std::optional<Plot> plot;
  if (!comparisons.empty())
    plot = difference_plot(say, context.input.gate ? comparisons.back() : comparisons.front());
  if (!plot) plot = score_plot(say, context.scores);
  if (plot) blocks.emplace_back(PlotBlock{std::move(*plot), {}});
  return blocks;
}

}  // namespace nb
