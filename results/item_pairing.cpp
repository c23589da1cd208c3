#include "results/item_pairing.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace nb {
namespace {

using Items = std::vector<ItemRecord>;
constexpr std::size_t kSeveral = static_cast<std::size_t>(-1);

// The item of each key; kSeveral where a key stands for more than one.
std::unordered_map<std::string_view, std::size_t> index_of(const Items& items,
                                                           std::string ItemRecord::*key) {
  std::unordered_map<std::string_view, std::size_t> index;  // looked up only, never walked
  index.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string& name = items[i].*key;
    if (name.empty()) continue;
    const auto [at, is_new] = index.try_emplace(name, i);
    if (!is_new) at->second = kSeveral;
  }
  return index;
}

// Pairs what the key pairs; how many of them have a key that is a name alone is added to `named`.
std::size_t pair_by(const Items& a, const Items& b, std::string ItemRecord::*key,
                    std::vector<std::size_t>& partner, std::vector<bool>& taken,
                    std::size_t& named) {
  const auto left = index_of(a, key), right = index_of(b, key);
  std::size_t found = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string& name = a[i].*key;
    if (name.empty() || partner[i] != kSeveral || left.at(name) == kSeveral) continue;
    const auto at = right.find(name);
    if (at == right.end() || at->second == kSeveral || taken[at->second]) continue;
    partner[i] = at->second;
    taken[at->second] = true;
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
