#include "results/flips.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "harness/base/subprocess.hpp"
#include "results/item_pairing.hpp"
#include "results/item_pairs.hpp"
#include "results/items.hpp"
#include "results/stored_items.hpp"

namespace nb {
namespace {

// Where the gate and compare call a flip hard (margin_shift.hpp).
double near_tie_limit(const ItemComparison& items) {
  if (items.margins.pairs.size() < 2 || !items.has_choices) return kRoundingLimit;
  return margin_shift(items.margins, /*flips=*/0, items.has_choices).hard_limit;
}

FlipKind kind_of(const MarginPair* margins, double limit, bool has_choices) {
  if (margins == nullptr || !has_choices) return FlipKind::kText;
  const bool near = std::abs(margins->a) <= limit && std::abs(margins->b) <= limit;
  return near ? FlipKind::kNearTie : FlipKind::kHard;
}

// As many samples as the other side has (item_pairing.hpp); nothing: it is as it is.
std::optional<ItemRecord> cut_beside(const ItemRecord& item, const ItemRecord& other) {
  const std::size_t samples = std::max<std::size_t>(1, other.sample_ok.size());
  if (item.sample_ok.size() <= samples) return std::nullopt;
  return first_samples(item, samples);
}

using TakePair = std::function<void(std::size_t row, const ItemRecord&, const ItemRecord&)>;

// Items of ours by their ids; of foreign results as compare pairs them.
Result<void> walk(const RecordPair& pair, const std::string& task, const TakePair& take) {
  if (!pair.imported) return for_each_pair(*pair.a, *pair.b, task, take);
  NB_TRY(const StoredItems items_a, stored_items(*pair.a, task));
  NB_TRY(const StoredItems items_b, stored_items(*pair.b, task));
  for (const auto& [i, j] : pair_items(items_a.get(), items_b.get()).pairs) {
    const ItemRecord &left = items_a.get()[i], &right = items_b.get()[j];
    const auto cut_left = cut_beside(left, right), cut_right = cut_beside(right, left);
    take(i, cut_left ? *cut_left : left, cut_right ? *cut_right : right);
  }
  return {};
}

void add_group(ItemList& list, const Comparison& c, const RecordPair& pair,
               const ItemComparison& items) {
  if (!items.error.empty()) {
    list.unreadable.push_back(items.error);
    return;
  }
  const bool has_flips = items.counts.only_a + items.counts.only_b > 0 || items.fractions;
  if (items.identical || !has_flips) return;
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
  group.limit = near_tie_limit(items);
  group.a = pair.a;
  group.b = pair.b;

  std::unordered_map<std::string, const MarginPair*> margins;
  for (const FlippedMargin& m : items.margins.flipped) margins.emplace(m.item, &m.margin);
  const auto take = [&](std::size_t row, const ItemRecord& left, const ItemRecord& other) {
    const double value_a = mark_of(left), value_b = mark_of(other);
    if (value_a == value_b) return;
    const auto margin = margins.find(left.id);
    Flip flip;
    flip.group = list.groups.size();
    flip.id = left.source_id.empty() ? left.id : left.source_id;
    flip.row = static_cast<std::int64_t>(row) + 1;
    flip.lost = value_a > value_b;
    ++(flip.lost ? group.lost : group.won);
    if (left.value || other.value) {
      flip.value_a = value_a;
      flip.value_b = value_b;
    }
    flip.name_a = name_of(left);
    flip.name_b = name_of(other);
    if (margin != margins.end()) {
      flip.margin_a = margin->second->a;
      flip.margin_b = margin->second->b;
    }
    flip.kind =
        kind_of(margin == margins.end() ? nullptr : margin->second, group.limit, items.has_choices);
    group.near_tie += flip.kind == FlipKind::kNearTie ? 1 : 0;
    group.hard += flip.kind == FlipKind::kHard ? 1 : 0;
    flip.gold = cut_text(left.gold);
    flip.a = cut_text(left.prediction);
    flip.b = cut_text(other.prediction);
    flip.log_probs_a = left.log_probs;
    flip.log_probs_b = other.log_probs;
    flip.reason_a = left.reason;
    flip.reason_b = other.reason;
    if (!left.texts.empty()) flip.text_a = cut_text(left.texts[0]);
    if (!other.texts.empty()) flip.text_b = cut_text(other.texts[0]);
    list.flips.push_back(std::move(flip));
  };
  const std::size_t before = list.flips.size();
  if (const auto walked = walk(pair, items.task, take); !walked) {
    list.unreadable.push_back(walked.error().message);
    list.flips.resize(before);
    return;
  }
  if (group.lost + group.won > 0) list.groups.push_back(std::move(group));
}

void add_groups(ItemList& list, const Comparison& c, bool same_weights) {
  for (const RecordPair& pair : c.pairs)
    if (pair.fixed_weights == same_weights && pair.incomparable.empty())
      for (const ItemComparison& items : pair.items) add_group(list, c, pair, items);
}

}  // namespace

std::string_view name(FlipKind kind) {
  switch (kind) {
    case FlipKind::kNearTie:
      return "near-tie";
    case FlipKind::kHard:
      return "hard";
    case FlipKind::kText:
      break;
  }
  return "text";
}

std::string show_command(const FlipGroup& group, bool side_a) {
  const StoredRecord& stored = side_a ? *group.a : *group.b;
  std::string command = "npubench show " + shell_text(stored.folder.string());
  // Several models of another harness may lie under one path.
  if (is_imported(stored.record)) command += " --node " + shell_text(describe(stored.record));
  return command + " --task " + shell_text(group.task);
}

std::string cut_text(std::string text) {
  if (text.size() <= kShownText) return text;
  std::size_t end = kShownText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + " …";
}

ItemList flips_of(const Comparison& comparison) {
  ItemList list;
  for (const bool same_weights : {true, false}) add_groups(list, comparison, same_weights);
  return list;
}

ItemList flips_of(const std::vector<Comparison>& comparisons) {
  ItemList list;
  for (const bool same_weights : {true, false})
    for (const Comparison& c : comparisons) add_groups(list, c, same_weights);
  return list;
}

}  // namespace nb
