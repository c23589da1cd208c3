// Items whose score differs between two sides: counted by task, then one by one.
#include <fmt/core.h>

#include "report/sections.hpp"

namespace nb {

std::vector<Block> flip_blocks(const ReportContext& context) {
  const Words& say = context.say;
  const ItemList& list = context.flips;
  std::vector<Block> blocks;
  if (!list.unreadable.empty()) blocks.emplace_back(BulletList{list.unreadable});
  if (list.count == 0) {
    blocks.emplace_back(Paragraph{
        say(context.input.comparisons.empty() ? Phrase("no_comparison") : Phrase("no_flips"))});
    return blocks;
  }
  blocks.emplace_back(Paragraph{say("flips_how")});
  TextTable table{{say("sides_short"), say("node"), say("task"), say("weights"), say("items"),
                   say("lost"), say("won"), say("near_tie"), say("hard"), say("limit_nat")},
                  {}};
  for (const FlipGroup& group : list.groups)
    table.rows.push_back(
        {short_label(group.label_a) + " | " + short_label(group.label_b), group.pair_a, group.task,
         say(group.same_weights ? Phrase("same_weights") : Phrase("other_weights")),
         with_commas(group.items), with_commas(group.lost), with_commas(group.won),
         group.near_tie + group.hard > 0 ? with_commas(group.near_tie) : "—",
         group.near_tie + group.hard > 0 ? with_commas(group.hard) : "—",
         group.near_tie + group.hard > 0 ? fmt::format("{:.3f}", group.limit) : "—"});
  const bool folded = table.rows.size() > 12;
  blocks.emplace_back(TableBlock{say("flips_by_task"), std::move(table), folded});
  blocks.emplace_back(ItemsBlock{list});
  return blocks;
}

}  // namespace nb
