#include "results/compare/item_pairing.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace nb {
namespace {

// Bytes that are equal where the keys of two items are; empty: an item has none.
using KeyOf = std::string_view (PackedItems::*)(std::size_t) const;
constexpr std::uint32_t kSeveral = 0xFFFFFFFE;  // also: no partner yet

// The item of each key, in a table of numbers: of half a million items a map of nodes costs
// seconds.
class KeyIndex {
 public:
  KeyIndex(const PackedItems& items, KeyOf key) : items_(items), key_(key) {
    std::size_t size = 16;
    while (size < 2 * items.size()) size *= 2;
    slots_.assign(size, kFree);
    several_.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string_view name = (items.*key)(i);
      if (name.empty()) continue;
      std::uint32_t& slot = slots_[slot_of(name)];
      if (slot == kFree)
        slot = static_cast<std::uint32_t>(i);
      else
        several_[slot] = true;
    }
  }

  // kSeveral: the key stands for more than one; nothing: for none.
  std::optional<std::uint32_t> find(std::string_view name) const {
    const std::uint32_t slot = slots_[slot_of(name)];
    if (slot == kFree) return std::nullopt;
    return several_[slot] ? kSeveral : slot;
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  // Of that key, or the free one where it belongs.
  std::size_t slot_of(std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = std::hash<std::string_view>()(name) & mask;
    while (slots_[at] != kFree && (items_.*key_)(slots_[at]) != name) at = (at + 1) & mask;
    return at;
  }

  const PackedItems& items_;
  KeyOf key_;
  std::vector<std::uint32_t> slots_;  // the first item of each key
  std::vector<bool> several_;         // of each item: others have its key
};

// Pairs what the key pairs; how many of them have a key that is a name alone is added to `named`.
std::size_t pair_by(const PackedItems& a, const PackedItems& b, KeyOf key,
                    std::vector<std::uint32_t>& partner, std::vector<bool>& taken,
                    std::size_t& named) {
  // Where everything is paired there is nothing to be looked up.
  if (std::find(partner.begin(), partner.end(), kSeveral) == partner.end()) return 0;
  const KeyIndex left(a, key), right(b, key);
  std::size_t found = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string_view name = (a.*key)(i);
    if (name.empty() || partner[i] != kSeveral || left.find(name) == kSeveral) continue;
    const auto at = right.find(name);
    if (!at || *at == kSeveral || taken[*at]) continue;
    partner[i] = *at;
    taken[*at] = true;
    // A key is the text behind its length.
    ++(name.find(kNamePrefix) != name.npos && a[i].id.starts_with(kNamePrefix) ? named : found);
  }
  return found;
}

}  // namespace

ItemPairing pair_items(const PackedItems& a, const PackedItems& b) {
  ItemPairing pairing;
  std::vector<std::uint32_t> partner(a.size(), kSeveral);
  std::vector<bool> taken(b.size());
  std::size_t names = 0, no_names = 0;
  const std::size_t hashes =
      pair_by(a, b, &PackedItems::doc_key, partner, taken, no_names) + no_names;
  const std::size_t contents = pair_by(a, b, &PackedItems::id_key, partner, taken, names);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (partner[i] == kSeveral)
      pairing.only_a.push_back(i);
    else
      pairing.pairs.emplace_back(static_cast<std::uint32_t>(i), partner[i]);
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
