// What differs besides the results: read before any number is attributed to a device.
#include <fmt/format.h>

#include <algorithm>

#include "report/sections.hpp"

namespace nb {
namespace {

bool has_category(const Comparison& c, std::initializer_list<std::string_view> categories) {
  return std::ranges::any_of(c.confounders, [&](const Confounder& one) {
    return std::ranges::find(categories, one.category) != categories.end();
  });
}

std::string category_text(const Words& say, const std::string& category) {
  if (category == "settings") return say("category_settings");
  if (category == "data") return say("category_data");
  if (category == "code") return say("category_code");
  if (category == "numerics") return say("category_numerics");
  if (category == "model") return say("model");
  if (category == "device") return say("category_device");
  if (category == "server") return say("category_server");
  return category;
}

void add_comparison(std::vector<Block>& blocks, const Words& say, const Comparison& c) {
  const bool devices = !c.device_a.empty();
  blocks.emplace_back(Paragraph{say("sides", c.label_a, c.label_b)});
  for (const auto* list : {&c.findings, &c.cautions, &c.unknown})
    for (const Sentence& sentence : *list) blocks.emplace_back(Paragraph{say(sentence), true});
  if (has_category(c, {"settings", "data", "code"}))
    blocks.emplace_back(Paragraph{say("confounded"), true});
  else if (devices && c.only_device_differs())
    blocks.emplace_back(Paragraph{say("only_devices")});
  if (devices && !has_category(c, {"numerics"}) && !c.pairs.empty())
    blocks.emplace_back(Paragraph{say("same_policy")});
  TextTable table{{say("what"), say("field"), "A: " + short_label(c.label_a),
                   "B: " + short_label(c.label_b), say("pairs")},
                  {}};
  for (const Confounder& one : c.confounders)
    table.rows.push_back({category_text(say, one.category), one.field, one.a, one.b,
                          fmt::format("{}", one.where.size())});
  if (!table.rows.empty())
    blocks.emplace_back(TableBlock{say("differences_besides"), std::move(table)});
  if (!c.stated_equal.empty())
    blocks.emplace_back(
        Paragraph{say("stated_equal", fmt::format("{}", fmt::join(c.stated_equal, ", ")))});
  std::vector<std::string> missing;
  for (const auto* list : {&c.unpaired, &c.skipped})
    for (const Sentence& sentence : *list) missing.push_back(say(sentence));
  missing.insert(missing.end(), c.damaged.begin(), c.damaged.end());
  if (!missing.empty()) {
    blocks.emplace_back(Paragraph{say("not_compared")});
    blocks.emplace_back(BulletList{std::move(missing)});
  }
}

}  // namespace

std::vector<Block> confounder_blocks(const ReportContext& context) {
  std::vector<Block> blocks;
  for (const Comparison& c : context.input.comparisons) add_comparison(blocks, context.say, c);
  if (blocks.empty()) return {Paragraph{context.say("no_comparison")}};
  return blocks;
}

}  // namespace nb
