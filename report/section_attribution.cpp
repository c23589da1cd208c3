// What a difference comes from: training or evaluation on another device (trained on × evaluated
// on), and the factors of an experiment (results/compare/factorial.hpp).
#include <algorithm>

#include "report/sections.hpp"
#include "results/compare/factorial.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

std::string cell(const DifferenceRow& row) {
  std::string text = signed_text(row.difference, row.unit);
  if (row.interval95) text += "\n" + interval_text(*row.interval95, row.unit);
  return text;
}

// Same weights on both devices; trained and evaluated on its own device each.
void add_crossed(std::vector<Block>& blocks, const Words& say, const Comparison& c) {
  TextTable table{{say("task"), say("model"), say("same_weights_of", c.device_a),
                   say("same_weights_of", c.device_b), say("own_weights")},
                  {}};
  auto rows = difference_rows(c);
  std::ranges::stable_sort(rows, {}, &DifferenceRow::stage);
  const auto find = [&](const DifferenceRow& own, const std::string& trained_on) {
    const auto at = std::ranges::find_if(rows, [&](const DifferenceRow& row) {
      return row.kind == "eval" && row.name == own.name && row.metric == own.metric &&
             row.trained_on_a == trained_on && row.trained_on_b == trained_on;
    });
    return at == rows.end() ? std::string("—") : cell(*at);
  };
  bool any = false;
  for (const DifferenceRow& own : rows) {
    if (own.kind != "eval" || !own.is_score || own.trained_on_a != c.device_a ||
        own.trained_on_b != c.device_b)
      continue;
    const std::string of_a = find(own, c.device_a), of_b = find(own, c.device_b);
    any = any || of_a != "—" || of_b != "—";
    table.rows.push_back({task_of_score(own.metric), own.name, of_a, of_b, cell(own)});
  }
  if (!any) return;
  blocks.emplace_back(Paragraph{say("crossed_how", c.device_b, c.device_a)});
  blocks.emplace_back(TableBlock{say("crossed", c.device_b, c.device_a), std::move(table)});
}

void add_effects(std::vector<Block>& blocks, const Words& say, const RunRecords& run) {
  const auto factorial = factorial_of(run);
  if (!factorial) {
    blocks.emplace_back(Paragraph{factorial.error().message, true});
    return;
  }
  blocks.emplace_back(Paragraph{say("emulated_effects", say(alias_sentence(*factorial)))});
  for (const MetricEffects& metric : factorial->metrics) {
    TextTable table{{say("factor"), say("high_low"), say("interval95"), say("share_of_gap"),
                     say("share_interval")},
                    {}};
    for (const EffectRow& row : effect_rows(*factorial, metric))
      table.rows.push_back(
          {say(row.name), row.effect, row.interval, row.share, row.share_interval});
    blocks.emplace_back(TableBlock{say(effects_caption(*factorial, metric)), std::move(table)});
  }
  blocks.emplace_back(Paragraph{say(effects_method())});
  for (const Sentence& note : factorial->notes) blocks.emplace_back(Paragraph{say(note), true});
}

}  // namespace

std::vector<Block> attribution_blocks(const ReportContext& context) {
  const RunRecords& run = *context.input.run;
  std::vector<Block> blocks;
  for (const Comparison& c : context.input.comparisons)
    if (!c.device_a.empty()) add_crossed(blocks, context.say, c);
  if (std::ranges::any_of(run.records, [](const auto& stored) { return is_arm(stored.record); }))
    add_effects(blocks, context.say, run);
  if (blocks.empty()) return {Paragraph{context.say("no_attribution")}};
  return blocks;
}

}  // namespace nb
