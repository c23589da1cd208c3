// What each factor of an experiment makes of each metric (results/factorial.hpp).
#include <algorithm>

#include "report/sections.hpp"
#include "results/factorial.hpp"

namespace nb {

std::vector<Block> effect_blocks(const ReportContext& context) {
  const RunRecords& run = *context.input.run;
  const bool has_arms =
      std::ranges::any_of(run.records, [](const auto& stored) { return is_arm(stored.record); });
  if (!has_arms) return {Paragraph{"The suite of this run is no experiment on several changes."}};
  const auto factorial = factorial_of(run);
  if (!factorial) return {Paragraph{factorial.error().message, true}};
  std::vector<Block> blocks = {Paragraph{"Emulated. " + alias_text(*factorial) + "."}};
  for (const MetricEffects& metric : factorial->metrics) {
    TextTable table{{"factor", "high − low", "95 % interval", "share of the emulated gap",
                     "95 % interval of the share, %"},
                    {}};
    for (const EffectRow& row : effect_rows(*factorial, metric))
      table.rows.push_back({row.name, row.effect, row.interval, row.share, row.share_interval});
    blocks.emplace_back(TableBlock{effects_caption(*factorial, metric), std::move(table)});
  }
  blocks.emplace_back(Paragraph{kEffectsMethod});
  for (const std::string& note : factorial->notes) blocks.emplace_back(Paragraph{note, true});
  return blocks;
}

}  // namespace nb
