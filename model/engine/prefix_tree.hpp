// Score requests as a tree of token runs: what requests have in common at their start is one node,
// to be computed once. Knows nothing of models; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/engine/language_model.hpp"

namespace nb {

// results[request].log_probs[index] is the log-probability of `target` after the node's row `row`.
struct WantedScore {
  std::int64_t row = 0;  // of the node: 0 … tokens.size() - 1
  int target = 0;
  std::size_t request = 0;
  std::size_t index = 0;
  int top = 0;  // pairs for results[request].top[index]
};

struct PrefixNode {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::span<const int> tokens;  // of one of the requests, which must outlive the tree
  std::int64_t first_position = 0;
  std::size_t parent = kNone;
  std::vector<std::size_t> children;
  std::vector<WantedScore> wanted;  // rows ascending
};

struct PrefixTree {
  std::vector<PrefixNode> nodes;   // parents before children
  std::vector<std::size_t> roots;  // in lexicographic order of their tokens, as children are
};

// What a shared run must bring to become a node of its own: shorter ones are computed again by each
// of those who share them, because a segment of the cache and a place in a batch cost, too.
struct SharingRule {
  std::int64_t min_shared_tokens = 8;
  std::int64_t min_saved_tokens = 32;  // shared tokens × (those who share them - 1)
};

// Each request becomes a path from a root that covers the tokens [0, end - 1), which is all that
// its scores need; an empty span becomes nothing. Equal requests share everything.
PrefixTree make_prefix_tree(std::span<const ScoreRequest> requests, const SharingRule& rule = {});

}  // namespace nb
