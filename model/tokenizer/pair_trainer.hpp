// The merge loop of BPE training on counted pieces (nanochat's rustbpe/src/lib.rs): the exact
// argmax rule with lazily refreshed counts. Counts of old pairs only fall, and a new pair always
// holds the newest id, so a heap entry is never too small: the first entry that is up to date is
// the maximum.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace nb {

struct CountedPiece {
  std::string_view bytes;
  std::int64_t count = 0;
};

// (left id, right id) of merge 0, 1, …; merge i makes id 256 + i. Fewer than asked for when every
// piece is one token. The order of the pieces does not matter.
std::vector<std::pair<std::uint32_t, std::uint32_t>> train_merges(
    const std::vector<CountedPiece>& pieces, std::size_t merges);

}  // namespace nb
