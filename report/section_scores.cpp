// Scores and training metrics side by side, a row each: over seeds where there are several. All
// pairs one by one are folded below.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "report/score_overview.hpp"
#include "report/sections.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

bool is_crossed(const DifferenceRow& row) {
  return (!row.trained_on_a.empty() && row.trained_on_a != row.device_a) ||
         (!row.trained_on_b.empty() && row.trained_on_b != row.device_b);
}

std::string method_text(const Words& say, const DifferenceRow& row) {
  switch (row.seed_method) {
    case SeedMethod::kPaired:
      return say("method_paired_seeds", row.seeds);
    case SeedMethod::kWelch:
      return say("method_welch");
    case SeedMethod::kOneAgainstMany:
      return say("method_one_many");
    case SeedMethod::kNone:
      break;
  }
  return say(row.method);
}

TextTable table_of(const Words& say, const Comparison& c, const std::vector<DifferenceRow>& rows) {
  TextTable table{{say("node"), say("metric"), "A: " + short_label(c.label_a),
                   "B: " + short_label(c.label_b), "B − A", say("interval95"), say("shown")},
                  {}};
  for (const DifferenceRow& row : rows)
    table.rows.push_back({row.node, row.metric, value_text(row.a, row.unit),
                          value_text(row.b, row.unit), signed_text(row.difference, row.unit),
                          row.interval95 ? interval_text(*row.interval95, row.unit) : "—",
                          shown_text(say, row.shown, row.min_detectable, row.unit)});
  return table;
}

// Pairs as they were, a row per metric that is not equal to the last bit; a real clock's noise has
// no place beside them.
TextTable pair_table(const Words& say, const Comparison& c) {
  TextTable table{
      {say("node"), say("metric"), "A: " + short_label(c.label_a), "B: " + short_label(c.label_b),
       "B − A", say("interval95"), say("shown"), say("note")},
      {}};
  for (const RecordPair& pair : c.pairs) {
    Record node = pair.a->record;
    if (!c.device_a.empty()) node.device = node.trained_on = "";
    for (const MetricDifference& row : pair.metrics) {
      if (row.clock == Clock::kHost || row.shown == Shown::kEqual) continue;
      const auto cell = [&](const std::optional<double>& value) {
        return value ? value_text(*value, row.unit) : std::string("—");
      };
      std::string note = say(row.note);
      if (row.counts)
        note = say("paired_items", row.counts->only_a, row.counts->only_b, row.counts->n(),
                   p_text(*row.p_two_sided));
      table.rows.push_back({describe(node), row.name, cell(row.a), cell(row.b),
                            row.difference ? signed_text(*row.difference, row.unit) : "—",
                            row.interval95 ? interval_text(*row.interval95, row.unit) : "",
                            shown_text(say, row.shown, row.min_detectable, row.unit), note});
    }
  }
  return table;
}

// Of other harnesses: two finished models, whoever trained them.
bool compares_imported(const Comparison& c) {
  return std::ranges::any_of(c.pairs, &RecordPair::imported);
}

void add_comparison(std::vector<Block>& blocks, const Words& say, const Comparison& c,
                    std::size_t number) {
  if (c.pairs.empty() && c.unmatched.empty()) {
    blocks.emplace_back(Paragraph{say("nothing_pairs", c.label_a, c.label_b), true});
    return;
  }
  std::vector<std::string> identical;
  for (const RecordPair& pair : c.pairs) {
    Record node = pair.a->record;
    if (!c.device_a.empty()) node.device = node.trained_on = "";
    if (pair.bit_identical) identical.push_back(describe(node));
  }
  std::vector<DifferenceRow> all = difference_rows(c);
  std::ranges::stable_sort(all, {}, &DifferenceRow::stage);
  std::vector<DifferenceRow> scores, trainings;
  std::set<std::string> methods;
  for (const DifferenceRow& row : all) {
    if (row.clock != Clock::kNone || is_crossed(row)) continue;
    if (row.kind == "eval" && row.is_score) scores.push_back(row);
    if (row.kind == "train" && row.direction != Direction::kNone) trainings.push_back(row);
    if (std::string how = method_text(say, row); !how.empty()) methods.insert(std::move(how));
  }
  blocks.emplace_back(Paragraph{say("sides", c.label_a, c.label_b)});
  if (!identical.empty()) {
    blocks.emplace_back(Paragraph{say.count("n_identical_pairs", std::ssize(identical))});
    if (identical.size() <= 12) blocks.emplace_back(BulletList{identical});
  }
  if (!scores.empty())
    blocks.emplace_back(TableBlock{compares_imported(c) ? say("scores_both") : say("scores_of"),
                                   table_of(say, c, scores)});
  if (!trainings.empty())
    blocks.emplace_back(TableBlock{say("trainings_of"), table_of(say, c, trainings)});
  std::string how;
  for (const std::string& method : methods) how += (how.empty() ? "" : "; ") + method;
  if (!how.empty()) blocks.emplace_back(Paragraph{say("intervals_how", how)});
  add_long_table(blocks, say, say("every_pair"), pair_table(say, c),
                 fmt::format("comparison_{}.csv", number));
}

}  // namespace

std::vector<Block> score_blocks(const ReportContext& context) {
  const Words& say = context.say;
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const Comparison& c : context.input.comparisons) add_comparison(blocks, say, c, ++number);
  const auto& comparisons = context.input.comparisons;
  if (!comparisons.empty()) {  // else on the first screen
    std::vector<Block> overview = score_overview(context);
    if (!std::ranges::all_of(comparisons, compares_imported))
      overview.insert(overview.begin(), Paragraph{say("separately_trained")});
    blocks.insert(blocks.begin(), std::make_move_iterator(overview.begin()),
                  std::make_move_iterator(overview.end()));
  }
  TextTable table{{say("node"), say("evaluated_on"), say("metric"), say("value"),
                   say("over_items95"), say("items")},
                  {}};
  for (const StoredRecord* stored : records_of(*context.input.run, "eval"))
    for (const Metric& metric : stored->record.metrics)
      table.rows.push_back(
          {stored->record.name, series_title(say, stored->record), metric.name, value_text(metric),
           metric.low && metric.high ? fmt::format("[{:.4f}, {:.4f}]", *metric.low, *metric.high)
                                     : "",
           metric.n == 0 ? "" : with_commas(metric.n)});
  if (table.rows.empty()) {
    blocks.emplace_back(Paragraph{say("no_evaluation")});
    return blocks;
  }
  add_long_table(blocks, say, say("every_score"), std::move(table), "metrics.csv");
  return blocks;
}

}  // namespace nb
