// Which items of two imported results are the same question. By the sources' own hashes of the
// document, else by its content, else, where neither side has more, by the sources' names of the
// items. Never by position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "results/store/packed_items.hpp"

namespace nb {

// Begins the id of an item that its source tells apart by a name alone.
inline constexpr const char* kNamePrefix = "name-";

struct ItemPairing {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // places in A and B, in A's order
  std::vector<std::size_t> only_a, only_b;
  std::string by;  // "the source's hashes", "content", "names", or two of them joined by "and"
};

// A hash that stands for several items of one side pairs nothing: their contents decide.
ItemPairing pair_items(const PackedItems& a, const PackedItems& b);

// The item as its first `samples` samples show it, of which it has more: sides are compared by as
// many samples as both have.
ItemRecord first_samples(const ItemRecord& item, std::size_t samples);

}  // namespace nb
