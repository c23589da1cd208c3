// The first screen: the verdict in words, the scores of every model and one plot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "report/markup.hpp"
#include "report/sections.hpp"
#include "report/sparkline.hpp"
#include "results/compare/headline.hpp"
#include "results/compare/predicted_run.hpp"
#include "results/compare/score_table.hpp"
#include "results/messages/sentences.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// More tasks than that stand below each other.
constexpr std::size_t kMaxTaskColumns = 9;

Tone tone_of_night(Verdict night) {
  if (night == Verdict::kPass || night == Verdict::kImproved) return Tone::kGood;
  if (night == Verdict::kInconclusive || night == Verdict::kIncomparable) return Tone::kUnsure;
  return Tone::kBad;
}

bool is_confounded(const Comparison& c) {
  return std::ranges::any_of(c.confounders, [](const Confounder& one) {
    return one.category == "settings" || one.category == "data" || one.category == "code";
  });
}

// Scores of each device's own models.
std::vector<DifferenceRow> own_scores(const Comparison& c) {
  std::vector<DifferenceRow> rows = difference_rows(c);
  std::ranges::stable_sort(rows, {}, &DifferenceRow::stage);
  std::erase_if(rows, [&](const DifferenceRow& row) {
    const bool crossed = (!row.trained_on_a.empty() && row.trained_on_a != row.device_a) ||
                         (!row.trained_on_b.empty() && row.trained_on_b != row.device_b);
    return row.kind != "eval" || crossed || !row.is_score;
  });
  return rows;
}

// What differs, what does not, what this cannot tell.
std::string comparison_headline(const Words& say, const Comparison& c, const ItemList& flips) {
  const bool alike = short_label(c.label_a) == short_label(c.label_b);
  const std::string a = alike ? c.label_a : short_label(c.label_a);
  const std::string b = alike ? c.label_b : short_label(c.label_b);
  const std::string scores = say(headline(c));
  // Predictions name their devices.
  const bool is_predicted = !scores.empty() && scores == say(predicted_sentence(c));
  std::string text = scores.empty() ? say("headline_no_scores", b, a)
                     : is_predicted ? scores
                                    : say("headline_sides", b, a, scores);
  const bool one_seed = std::ranges::any_of(
      own_scores(c), [](const DifferenceRow& row) { return row.seeds <= 1 && !row.fixed_weights; });
  const bool is_said = std::ranges::any_of(
      c.scores, [](const Score& score) { return score.outcome == ScoreOutcome::kOneTraining; });
  if (!c.device_a.empty() && one_seed && !is_said) text += " " + say("headline_one_seed");
  std::int64_t flipped = 0, hard = 0, items = 0, choices = 0;
  for (const RecordPair& pair : c.pairs)
    if (pair.fixed_weights)
      for (const ItemComparison& one : pair.items) items += one.counts.n();
  for (const FlipGroup& group : flips.groups)
    if (group.same_weights && group.label_a == c.label_a && group.label_b == c.label_b) {
      flipped += group.lost + group.won;
      hard += group.hard;
      choices += group.hard + group.near_tie;
    }
  if (items > 0 && flipped == 0)
    text += " " + say("headline_no_flips", with_commas(items));
  else if (items > 0)
    text += " " + say("headline_flips", with_commas(flipped), with_commas(items),
                      with_commas(choices), with_commas(hard));
  if (is_confounded(c)) text += " " + say("headline_confounded");
  return text;
}

// "[−8.5, −2.5]" stays on one line.
std::string unbroken(const std::string& text) {
  std::string html;
  for (const char c : markup_escaped(text)) html += c == ' ' ? "&nbsp;" : std::string(1, c);
  return html;
}

constexpr std::size_t kHeadRows = 40;  // more stand in the tables below

// A row a score, its interval drawn in the last column, on one scale for all scores of a unit.
TableBlock head_table(const Words& say, const Comparison& c) {
  TableBlock block;
  block.caption = say("sides_caption", c.label_a, c.label_b);
  block.table.header = {say("score"), "A", "B", "B − A", say("shown"), say("interval95")};
  std::vector<Score> scores = surest_first(c);
  scores.resize(std::min(scores.size(), kHeadRows));
  for (const Score& score : scores) {
    const ScoreCells cells = cells_of(score);
    block.table.rows.push_back({cells.name, cells.a, cells.b, cells.difference,
                                say(words_of(score.outcome)), cells.interval});
    double scale = 0;
    for (const Score& other : scores)
      if (other.unit == score.unit && other.is_share == score.is_share)
        scale = std::max({scale, std::fabs(other.difference),
                          other.interval95 ? std::fabs(other.interval95->low) : 0,
                          other.interval95 ? std::fabs(other.interval95->high) : 0});
    block.svgs.push_back(scale == 0 ? ""
                                    : interval_svg(score.difference, score.interval95, scale,
                                                   cells.difference + " " + cells.interval) +
                                          " " + unbroken(cells.interval));
  }
  return block;
}

void add_headline(std::vector<Block>& blocks, const ReportContext& context) {
  const Words& say = context.say;
  const ReportInput& input = context.input;
  if (input.run->records.empty()) {
    blocks.emplace_back(Banner{say("no_records"), Tone::kBad});
    return;
  }
  if (input.gate) {
    const GateResult& gate = *input.gate;
    blocks.emplace_back(Banner{say(first_line_of(gate)), tone_of_night(gate.night)});
    for (std::size_t i = 1; i < gate.findings.size(); ++i)
      blocks.emplace_back(Paragraph{say(gate.findings[i]), true});
    if (!gate.likely_cause.empty() && gate.night != Verdict::kPass)
      blocks.emplace_back(Paragraph{say("likely_cause", say(gate.likely_cause))});
    for (const Comparison& c : input.comparisons)
      if (std::ranges::any_of(c.pairs, &RecordPair::imported))
        blocks.emplace_back(Paragraph{comparison_headline(say, c, context.flips)});
    return;
  }
  bool any = false;
  for (const Comparison& c : input.comparisons) {
    if (const Sentence why = c.why_incomparable(); !why.empty())
      blocks.emplace_back(Banner{
          say("headline_incomparable", short_label(c.label_b), short_label(c.label_a), say(why)),
          Tone::kUnsure});
    else
      blocks.emplace_back(Banner{comparison_headline(say, c, context.flips),
                                 is_confounded(c) ? Tone::kUnsure : Tone::kPlain});
    any = true;
  }
  if (!any) blocks.emplace_back(Banner{say("headline_nothing"), Tone::kPlain});
}

void add_trouble(std::vector<Block>& blocks, const ReportContext& context) {
  std::vector<std::string> items;
  for (const StoredRecord& stored : context.input.run->records)
    if (stored.record.status != "ok")
      items.push_back(context.say("node_failed", describe(stored.record), stored.record.error));
  std::ranges::copy(context.input.run->damaged, std::back_inserter(items));
  if (items.empty()) return;
  blocks.emplace_back(Paragraph{context.say("incomplete"), true});
  blocks.emplace_back(BulletList{items});
}

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

// The plot is part of the first screen.
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

// Of "results/npu" beside "results/gpu": "npu"; whole where both end alike.
std::string last_part(const std::string& label, const std::string& other) {
  const auto last = [](const std::string& text) { return text.substr(text.rfind('/') + 1); };
  return last(label).empty() || last(label) == last(other) ? short_label(label) : last(label);
}

// Differences with their intervals, zero marked.
std::optional<Plot> difference_plot(const Words& say, const Comparison& c) {
  Plot plot;
  plot.kind = PlotKind::kIntervals;
  plot.name = "differences";
  plot.title =
      say("plot_differences", last_part(c.label_b, c.label_a), last_part(c.label_a, c.label_b));
  plot.x_label = say("plot_differences_axis");
  PlotSeries series, zero;
  series.title = last_part(c.label_b, c.label_a) + " − " + last_part(c.label_a, c.label_b);
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

std::vector<Block> verdict_blocks(const ReportContext& context) {
  const Words& say = context.say;
  const ReportInput& input = context.input;
  std::vector<Block> blocks;
  add_headline(blocks, context);
  add_trouble(blocks, context);
  bool imported = false;
  for (const Comparison& c : input.comparisons) {
    if (!c.scores.empty()) blocks.emplace_back(head_table(say, c));
    imported |= !c.scores.empty() && std::ranges::any_of(c.pairs, &RecordPair::imported);
  }
  if (!imported)  // there the table says it all
    for (const ScoreTable& table : context.scores) blocks.emplace_back(score_table(context, table));
  if (context.scores.empty()) blocks.emplace_back(Paragraph{say("no_evaluation")});
  // One plot: of what the verdict is about.
  std::optional<Plot> plot;
  if (!input.comparisons.empty())
    plot = difference_plot(say, input.gate ? input.comparisons.back() : input.comparisons.front());
  if (!plot) plot = score_plot(say, context.scores);
  if (plot) blocks.emplace_back(PlotBlock{std::move(*plot), {}});
  return blocks;
}

}  // namespace nb
