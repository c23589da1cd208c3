// Scores a prefix tree by a IncrementalModel: every node once, many nodes in a forward pass,
// deepest first. A cache lives until the last node below it is done, so live caches hold at most
// about max_tokens positions for each level of the tree. One thread drives, the kernels are
// parallel.
#pragma once

#include <cstdint>
#include <span>

#include "model/decoder/incremental_model.hpp"
#include "model/engine/prefix_tree.hpp"

namespace nb {

struct TreeBatching {
  std::int64_t max_chunks = 64;    // nodes in a forward pass
  std::int64_t max_tokens = 2048;  // rows of a forward pass; a longer node is cut to pieces
};

// What a call did, for tests and benchmarks.
struct TreeStats {
  std::int64_t passes = 0;
  std::int64_t tokens = 0;      // rows computed
  std::int64_t logit_rows = 0;  // rows that reached the output layer
};

// results: one per request of the tree's, sized and filled with what a dry device leaves there.
TreeStats score_tree(IncrementalModel& decoder, const PrefixTree& tree,
                     const TreeBatching& batching, std::span<ScoreResult> results);

}  // namespace nb
