#include "report/flips.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "results/item_pairing.hpp"
#include "results/items.hpp"

namespace nb {
namespace {

// The gate's rule (gate_scoring.hpp): four times the robust spread of the margins' changes.
double near_tie_limit(const std::vector<MarginPair>& margins) {
  if (margins.empty()) return 0.05;
  std::vector<double> changes;
  for (const MarginPair& m : margins) changes.push_back(std::abs(m.b - m.a));
  return std::max(0.05, 4 * 1.4826 * median(std::move(changes)));
}

// Not in the middle of a character of UTF-8.
std::string cut(std::string text) {
  if (text.size() <= kShownText) return text;
  std::size_t end = kShownText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + " …";
}

Result<std::vector<ItemRecord>> items_of(const StoredRecord& stored, const std::string& task) {
  const auto at = stored.record.items.find(task);
  if (at == stored.record.items.end())
    return bad_input(stored.folder.string() + ": the record has no items of " + task);
  if (stored.items != nullptr) return stored.items->at(task);
  return read_items(stored.folder / at->second);
}

FlipKind kind_of(const MarginPair* margins, double limit, bool has_choices) {
  if (margins == nullptr || !has_choices) return FlipKind::kText;
  const bool near = std::abs(margins->a) <= limit && std::abs(margins->b) <= limit;
  return near ? FlipKind::kNearTie : FlipKind::kHard;
}

// Items of ours by their ids; of foreign results as compare pairs them.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const std::vector<ItemRecord>& a,
                                                          const std::vector<ItemRecord>& b,
                                                          bool imported) {
  if (imported) return pair_items(a, b).pairs;
  std::unordered_map<std::string, std::size_t> by_id;  // looked up only, never walked
  for (std::size_t i = 0; i < b.size(); ++i) by_id.emplace(b[i].id, i);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const auto at = by_id.find(a[i].id); at != by_id.end()) pairs.emplace_back(i, at->second);
  return pairs;
}

void add_group(ItemList& list, const Comparison& c, const RecordPair& pair,
               const ItemComparison& items) {
  if (!items.error.empty()) {
    list.unreadable.push_back(items.error);
    return;
  }
  if (items.identical || items.counts.only_a + items.counts.only_b == 0) return;
  const auto a = items_of(*pair.a, items.task), b = items_of(*pair.b, items.task);
  if (!a || !b) {
    list.unreadable.push_back(a ? b.error().message : a.error().message);
    return;
  }
  FlipGroup group;
  group.label_a = c.label_a;
  group.label_b = c.label_b;
  group.pair_a = describe(pair.a->record);
  group.pair_b = describe(pair.b->record);
  group.task = items.task;
  group.same_weights = pair.fixed_weights;
  group.folder_a = pair.a->folder.string();
  group.folder_b = pair.b->folder.string();
  group.items = items.counts.n();
  group.lost = items.counts.only_a;
  group.won = items.counts.only_b;
  group.limit = near_tie_limit(items.margins);

  std::unordered_map<std::string, const MarginPair*> margins;
  for (const MarginPair& m : items.margins) margins.emplace(m.item, &m);
  for (const auto& [row, row_b] : pairs_of(*a, *b, pair.imported)) {
    const ItemRecord &left = (*a)[row], &other = (*b)[row_b];
    if (other.ok == left.ok) continue;
    const auto margin = margins.find(left.id);
    Flip flip;
    flip.group = list.groups.size();
    flip.id = left.source_id.empty() ? left.id : left.source_id;
    flip.row = static_cast<std::int64_t>(row);
    flip.lost = left.ok;
    if (margin != margins.end()) {
      flip.margin_a = margin->second->a;
      flip.margin_b = margin->second->b;
    }
    flip.kind =
        kind_of(margin == margins.end() ? nullptr : margin->second, group.limit, items.has_choices);
    group.near_tie += flip.kind == FlipKind::kNearTie ? 1 : 0;
    group.hard += flip.kind == FlipKind::kHard ? 1 : 0;
    flip.gold = cut(left.gold);
    flip.a = cut(left.prediction);
    flip.b = cut(other.prediction);
    flip.log_probs_a = left.log_probs;
    flip.log_probs_b = other.log_probs;
    flip.reason_a = left.reason;
    flip.reason_b = other.reason;
    if (!left.texts.empty()) flip.text_a = cut(left.texts[0]);
    if (!other.texts.empty()) flip.text_b = cut(other.texts[0]);
    list.flips.push_back(std::move(flip));
  }
  list.groups.push_back(std::move(group));
}

}  // namespace

ItemList flips_of(const std::vector<Comparison>& comparisons) {
  ItemList list;
  for (const bool same_weights : {true, false})
    for (const Comparison& c : comparisons)
      for (const RecordPair& pair : c.pairs)
        if (pair.fixed_weights == same_weights && pair.incomparable.empty())
          for (const ItemComparison& items : pair.items) add_group(list, c, pair, items);
  return list;
}

}  // namespace nb
