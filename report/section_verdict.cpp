// The first screen: the verdict in words, its numbers, a row a score, what else differs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/key_figures.hpp"
#include "report/score_overview.hpp"
#include "report/sections.hpp"
#include "report/sparkline.hpp"
#include "results/compare/headline.hpp"
#include "results/compare/predicted_run.hpp"
#include "results/compare/score_table.hpp"
#include "results/messages/sentences.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

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

// What differs, what does not, and what this cannot tell; names_sides: of several comparisons.
std::string comparison_headline(const Words& say, const Comparison& c, const ItemList& flips,
                                bool names_sides) {
  const std::string a = side_label(c.label_a, c.label_b), b = side_label(c.label_b, c.label_a);
  const std::string scores = say(headline(c));
  // Predictions name their devices.
  const bool is_predicted = !scores.empty() && scores == say(predicted_sentence(c));
  std::string text = scores.empty()                 ? say("headline_no_scores", b, a)
                     : is_predicted || !names_sides ? scores
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
  if (scores.empty() && is_confounded(c)) text += " " + say("headline_confounded");
  return text;
}

constexpr std::size_t kHeadRows = 40;  // more stand in the tables below

// Half the width of the picture of an interval: the farthest end among scores of that unit.
double scale_of(const Score& score, const std::vector<Score>& scores) {
  double scale = 0;
  for (const Score& other : scores)
    if (other.unit == score.unit && other.is_share == score.is_share)
      scale = std::max({scale, std::fabs(other.difference),
                        other.interval95 ? std::fabs(other.interval95->low) : 0,
                        other.interval95 ? std::fabs(other.interval95->high) : 0});
  return scale;
}

// A row a score, its interval drawn in it, on one scale for all scores of a unit.
TableBlock head_table(const Words& say, const Comparison& c, std::string caption,
                      const std::string& a, const std::string& b) {
  TableBlock block;
  block.caption = std::move(caption);
  block.table.header = {say("score"), a, b, "B − A", say("interval95"), say("verdict")};
  std::vector<Score> scores = surest_first(c);
  const std::size_t count = scores.size();
  scores.resize(std::min(count, kHeadRows));
  block.pictures = {4, {}, true};
  for (const Score& score : scores) {
    const ScoreCells cells = cells_of(score);
    block.table.rows.push_back({cells.name, cells.a, cells.b, cells.difference, cells.interval,
                                say(words_of(score.outcome))});
    const double scale = scale_of(score, scores);
    block.pictures.svgs.push_back(scale == 0
                                      ? ""
                                      : interval_svg(score.difference, score.interval95, scale,
                                                     cells.difference + " " + cells.interval));
  }
  std::int64_t items = 0;
  for (const RecordPair& pair : c.pairs)
    for (const ItemComparison& one : pair.items) items += one.counts.n();
  if (items > 0) block.note = say("head_items", with_commas(items));
  if (count > 1) block.note += (items > 0 ? " " : "") + say("head_corrected", count);
  if (count > kHeadRows) block.note += " " + say("head_more", count - kHeadRows);
  return block;
}

constexpr std::size_t kMostListed = 6;  // differences and equalities; all stand below

// "/checkpoint/numerics/pointwise" is read as "checkpoint numerics pointwise".
std::string in_words(std::string field) {
  if (field.starts_with('/')) field.erase(0, 1);
  std::ranges::replace(field, '/', ' ');
  return field;
}

std::string unquoted(const std::string& value) {
  const bool is_quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
  return is_quoted ? value.substr(1, value.size() - 2) : value;
}

std::vector<std::string> shortened(const Words& say, std::vector<std::string> items) {
  if (items.size() <= kMostListed + 1) return items;
  const std::size_t more = items.size() - kMostListed;
  items.resize(kMostListed);
  items.push_back(say("and_more_below", more));
  return items;
}

// What else differs, and what is known to be equal.
Columns causes_of(const Words& say, const Comparison& c) {
  std::vector<std::string> differs, same;
  for (const Confounder& one : c.confounders)
    differs.push_back(
        fmt::format("{}: {} → {}", in_words(one.field), unquoted(one.a), unquoted(one.b)));
  for (const Sentence& one : c.unknown) differs.push_back(say("differs_unknown", say(one)));
  if (differs.empty()) differs.push_back(say("differs_nothing"));
  std::int64_t items = 0;
  bool imported = false, fixed = !c.pairs.empty();
  for (const RecordPair& pair : c.pairs) {
    imported |= pair.imported;
    if (pair.a->record.kind != "eval") continue;
    fixed &= pair.fixed_weights && !pair.imported;
    for (const ItemComparison& one : pair.items) items += one.counts.n();
  }
  if (items > 0) same.push_back(say("same_questions", with_commas(items)));
  if (items > 0 && fixed) same.push_back(say("same_weights_known"));
  if (!imported && !is_confounded(c) && c.unknown.empty() && !c.pairs.empty())
    same.push_back(say("same_recipe"));
  if (!c.stated_equal.empty())
    same.push_back(say("stated_equal", fmt::format("{}", fmt::join(c.stated_equal, ", "))));
  if (same.empty()) same.push_back(say("same_nothing"));
  return {{{say("differs_title"), shortened(say, std::move(differs))},
           {say("same_title"), shortened(say, std::move(same))}}};
}

Banner banner_of(const ReportContext& context, const Comparison& c, bool names_sides) {
  const Words& say = context.say;
  if (const Sentence why = c.why_incomparable(); !why.empty())
    return {say("headline_incomparable", side_label(c.label_b, c.label_a),
                side_label(c.label_a, c.label_b), say(why)),
            Tone::kUnsure};
  return {comparison_headline(say, c, context.flips, names_sides),
          is_confounded(c) ? Tone::kUnsure : Tone::kPlain};
}

// What the gate says first; of imported results, which it judges score by score, the scores do.
Banner gate_banner(const ReportContext& context) {
  const Words& say = context.say;
  const GateResult& gate = *context.input.gate;
  const Comparison& c = context.input.comparisons.back();
  Banner banner{say(first_line_of(gate)), tone_of_night(gate.night)};
  for (std::size_t i = 1; i < gate.findings.size(); ++i)
    banner.more.push_back(say(gate.findings[i]));
  if (gate.night != Verdict::kIncomparable && std::ranges::any_of(c.pairs, &RecordPair::imported)) {
    banner.more.insert(banner.more.begin(), banner.text);
    banner.text = comparison_headline(say, c, context.flips, false);
  }
  if (!gate.likely_cause.empty() && gate.night != Verdict::kPass)
    banner.more.push_back(say("likely_cause", say(gate.likely_cause)));
  return banner;
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

// Long names stand below the title alone.
std::string column_of(const char* side, const std::string& name) {
  constexpr std::size_t kMost = 16;
  return name.size() <= kMost ? fmt::format("{}: {}", side, name) : side;
}

// The one comparison that the report is about.
void add_comparison(std::vector<Block>& blocks, const ReportContext& context, const Comparison& c) {
  const Words& say = context.say;
  if (KeyFigures figures = key_figures(say, c, context.names); !figures.figures.empty())
    blocks.emplace_back(std::move(figures));
  if (!c.scores.empty())
    blocks.emplace_back(head_table(say, c, say("scores_title"), column_of("A", context.names.a),
                                   column_of("B", context.names.b)));
  if (!c.pairs.empty()) blocks.emplace_back(causes_of(say, c));
}

}  // namespace

std::vector<Block> verdict_blocks(const ReportContext& context) {
  const Words& say = context.say;
  const ReportInput& input = context.input;
  const Comparison* only = main_comparison(input);
  std::vector<Block> blocks;
  if (input.run->records.empty())
    blocks.emplace_back(Banner{say("no_records"), Tone::kBad});
  else if (input.gate)
    blocks.emplace_back(gate_banner(context));
  else if (input.comparisons.empty())
    blocks.emplace_back(Banner{say("headline_nothing"), Tone::kPlain});
  else
    for (const Comparison& c : input.comparisons)
      blocks.emplace_back(banner_of(context, c, only == nullptr));
  add_trouble(blocks, context);
  if (only != nullptr)
    add_comparison(blocks, context, *only);
  else
    for (const Comparison& c : input.comparisons)
      if (!c.scores.empty())
        blocks.emplace_back(
            head_table(say, c, say("sides_caption", c.label_a, c.label_b), "A", "B"));
  if (context.scores.empty()) blocks.emplace_back(Paragraph{say("no_evaluation")});
  if (input.comparisons.empty())
    for (Block& block : score_overview(context)) blocks.push_back(std::move(block));
  return blocks;
}

}  // namespace nb
