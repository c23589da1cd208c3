#include "results/item_pairing.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace nb {
namespace {

using Items = std::vector<ItemRecord>;
constexpr std::size_t kSeveral = static_cast<std::size_t>(-1);

// The item of each key, in a table of numbers: of half a million items a map of nodes costs
// seconds.
class KeyIndex {
 public:
  KeyIndex(const Items& items, std::string ItemRecord::*key) : items_(items), key_(key) {
    std::size_t size = 16;
    while (size < 2 * items.size()) size *= 2;
    slots_.assign(size, kFree);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string& name = items[i].*key;
      if (name.empty()) continue;
      Slot& slot = slots_[slot_of(name)];
      if (slot.item == kFree.item)
        slot.item = static_cast<std::uint32_t>(i);
      else
        slot.is_several = true;
    }
  }

  // kSeveral: the key stands for more than one; nothing: for none.
  std::optional<std::size_t> find(std::string_view name) const {
    const Slot& slot = slots_[slot_of(name)];
    if (slot.item == kFree.item) return std::nullopt;
    return slot.is_several ? kSeveral : std::size_t{slot.item};
  }

 private:
  struct Slot {
    std::uint32_t item;  // the first of its key
    bool is_several;
  };
  static constexpr Slot kFree = {0xFFFFFFFF, false};

  // Of that key, or the free one where it belongs.
  std::size_t slot_of(std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = std::hash<std::string_view>()(name) & mask;
    while (slots_[at].item != kFree.item && items_[slots_[at].item].*key_ != name)
      at = (at + 1) & mask;
    return at;
  }

  const Items& items_;
  std::string ItemRecord::*key_;
  std::vector<Slot> slots_;
};

// Pairs what the key pairs; how many of them have a key that is a name alone is added to `named`.
std::size_t pair_by(const Items& a, const Items& b, std::string ItemRecord::*key,
                    std::vector<std::size_t>& partner, std::vector<bool>& taken,
                    std::size_t& named) {
  // Where everything is paired there is nothing to be looked up.
  if (std::find(partner.begin(), partner.end(), kSeveral) == partner.end()) return 0;
  const KeyIndex left(a, key), right(b, key);
  std::size_t found = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string& name = a[i].*key;
    if (name.empty() || partner[i] != kSeveral || left.find(name) == kSeveral) continue;
    const auto at = right.find(name);
    if (!at || *at == kSeveral || taken[*at]) continue;
    partner[i] = *at;
    taken[*at] = true;
    ++(name.starts_with(kNamePrefix) ? named : found);
  }
  return found;
}

}  // namespace

ItemPairing pair_items(const Items& a, const Items& b) {
  ItemPairing pairing;
  std::vector<std::size_t> partner(a.size(), kSeveral);
  std::vector<bool> taken(b.size());
  std::size_t names = 0;
  const std::size_t hashes = pair_by(a, b, &ItemRecord::doc_hash, partner, taken, names);
  const std::size_t contents = pair_by(a, b, &ItemRecord::id, partner, taken, names);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (partner[i] == kSeveral)
      pairing.only_a.push_back(i);
    else
      pairing.pairs.emplace_back(i, partner[i]);
  for (std::size_t j = 0; j < b.size(); ++j)
    if (!taken[j]) pairing.only_b.push_back(j);
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) pairing.by += (pairing.by.empty() ? "" : " and ") + std::string(what);
  };
  add(hashes, "the source's hashes");
  add(contents, "content");
  add(names, "names");
  return pairing;
}

ItemRecord first_samples(const ItemRecord& item, std::size_t samples) {
  ItemRecord cut = item;
  cut.sample_ok.resize(samples);
  const auto right = std::count(cut.sample_ok.begin(), cut.sample_ok.end(), 1);
  cut.ok = static_cast<std::size_t>(right) == samples;
  cut.value = static_cast<double>(right) / static_cast<double>(samples);
  if (cut.value == 0 || cut.value == 1) cut.value.reset();
  return cut;
}

}  // namespace nb
