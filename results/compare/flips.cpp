#include "results/compare/flips.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "harness/base/subprocess.hpp"
#include "results/compare/item_pairing.hpp"
#include "results/store/item_pairs.hpp"
#include "results/store/items.hpp"
#include "results/store/stored_items.hpp"

namespace nb {
namespace {

// Where the gate and compare call a flip hard (margin_shift.hpp).
double near_tie_limit(const ItemComparison& items) {
  if (items.margins.size() < 2 || !items.has_choices) return kRoundingLimit;
  return margin_shift(items.margins, /*flips=*/0, items.has_choices).hard_limit;
}

FlipKind kind_of(const std::optional<MarginPair>& margins, double limit, bool has_choices) {
  if (!margins || !has_choices) return FlipKind::kText;
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
  ItemRecord left, right;
  for (const auto& [i, j] : pair_items(items_a.get(), items_b.get()).pairs) {
    items_a.get().read(i, left);
    items_b.get().read(j, right);
    const auto cut_left = cut_beside(left, right), cut_right = cut_beside(right, left);
    take(i, cut_left ? *cut_left : left, cut_right ? *cut_right : right);
  }
  return {};
}

FlipGroup group_of(const Comparison& c, const RecordPair& pair, const ItemComparison& items) {
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
  return group;
}

Flip flip_of(std::size_t row, const ItemRecord& left, const ItemRecord& right, double limit,
             bool has_choices) {
  const double value_a = score_of(left), value_b = score_of(right);
  const auto margins = gold_margins(left, right);
  Flip flip;
  flip.id = left.source_id.empty() ? left.id : left.source_id;
  flip.row = static_cast<std::int64_t>(row) + 1;
  flip.lost = value_a > value_b;
  flip.kind = kind_of(margins, limit, has_choices);
  if (left.value || right.value) {
    flip.value_a = value_a;
    flip.value_b = value_b;
  }
  flip.name_a = name_of(left);
  flip.name_b = name_of(right);
  if (margins) {
    flip.margin_a = margins->a;
    flip.margin_b = margins->b;
  }
  flip.gold = cut_text(left.gold);
  flip.a = cut_text(left.prediction);
  flip.b = cut_text(right.prediction);
  flip.log_probs_a = left.log_probs;
  flip.log_probs_b = right.log_probs;
  flip.reason_a = left.reason;
  flip.reason_b = right.reason;
  if (!left.texts.empty()) flip.text_a = cut_text(left.texts[0]);
  if (!right.texts.empty()) flip.text_b = cut_text(right.texts[0]);
  return flip;
}

// Calls take(group, flip) for each flip of the task, then gives the group with its counts; nothing
// where nothing flipped. Errors: what could not be read; flips before it were given.
template <class Take>
Result<std::optional<FlipGroup>> walk_group(const Comparison& c, const RecordPair& pair,
                                            const ItemComparison& items, const Take& take) {
  if (!items.error.empty()) return bad_input(items.error);
  const bool has_flips = items.counts.only_a + items.counts.only_b > 0 || items.fractions;
  if (items.identical || !has_flips) return std::nullopt;
  FlipGroup group = group_of(c, pair, items);
  NB_TRY_VOID(
      walk(pair, items.task, [&](std::size_t row, const ItemRecord& left, const ItemRecord& right) {
        if (score_of(left) == score_of(right)) return;
        const Flip flip = flip_of(row, left, right, group.limit, items.has_choices);
        ++(flip.lost ? group.lost : group.won);
        group.near_tie += flip.kind == FlipKind::kNearTie ? 1 : 0;
        group.hard += flip.kind == FlipKind::kHard ? 1 : 0;
        take(group, flip);
      }));
  if (group.lost + group.won == 0) return std::nullopt;
  return group;
}

void add_task(ItemList& list, const Comparison& c, const RecordPair& pair,
              const ItemComparison& items, const FlipChoice& choice) {
  if (choice.is_wanted && !choice.is_wanted(items.task)) return;
  const std::size_t before = list.flips.size();
  auto group = walk_group(c, pair, items, [&](const FlipGroup& of, const Flip& flip) {
    if (choice.take) choice.take(of, flip);
    if (list.flips.size() >= choice.most) return;
    list.flips.push_back(flip);
    list.flips.back().group = list.groups.size();
  });
  if (!group) {
    list.unreadable.push_back(group.error().message);
    list.flips.resize(before);
  } else if (*group) {
    list.count += (*group)->lost + (*group)->won;
    list.groups.push_back(std::move(**group));
  }
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

ItemList flips_of(std::span<const Comparison> comparisons, const FlipChoice& choice) {
  ItemList list;
  for (const bool same_weights : {true, false})
    for (const Comparison& c : comparisons)
      for (const RecordPair& pair : c.pairs)
        if (pair.fixed_weights == same_weights && pair.incomparable.empty())
          for (const ItemComparison& items : pair.items) add_task(list, c, pair, items, choice);
  return list;
}

ItemList flips_of(const Comparison& comparison, const FlipChoice& choice) {
  return flips_of(std::span(&comparison, 1), choice);
}

}  // namespace nb
