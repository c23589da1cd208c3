#include "model/engine/prefix_tree.hpp"

#include <algorithm>
#include <iterator>

namespace nb {
namespace {

// The tokens that a request's scores need.
std::span<const int> needed(const ScoreRequest& request) {
  return std::span(request.tokens).first(request.end - 1);
}

std::size_t common_length(std::span<const int> a, std::span<const int> b) {
  return static_cast<std::size_t>(
      std::distance(a.begin(), std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first));
}

// Sorted requests [begin, end) that agree on their first `depth` tokens. The path above covers
// `covered` <= depth tokens of them; `parent` is its last node.
struct Range {
  std::size_t begin, end;
  std::size_t covered, depth;
  std::size_t parent;
};

class TreeMaker {
 public:
  TreeMaker(std::span<const ScoreRequest> requests, const SharingRule& rule)
      : requests_(requests), rule_(rule) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].start < requests[i].end) order_.push_back(i);
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return std::ranges::lexicographical_compare(needed(requests[a]), needed(requests[b]));
    });
  }

  PrefixTree make() {
    if (!order_.empty()) open_.push_back({0, order_.size(), 0, 0, PrefixNode::kNone});
    while (!open_.empty()) {
      const Range range = open_.back();
      open_.pop_back();
      split(range);
    }
    return std::move(tree_);
  }

 private:
  std::span<const int> tokens(std::size_t i) const { return needed(requests_[order_[i]]); }

  void split(Range range) {
    // The range is sorted: what its ends have in common, all have.
    const std::size_t shared = common_length(tokens(range.begin), tokens(range.end - 1));
    std::vector<Range> groups = groups_of(range, shared);
    const auto run = static_cast<std::int64_t>(shared - range.covered);
    const auto saved = run * (std::ssize(groups) - 1);
    const bool is_leaf = groups.size() == 1;
    if (is_leaf || (run >= rule_.min_shared_tokens && saved >= rule_.min_saved_tokens)) {
      const std::size_t node = add_node(range, shared);
      if (is_leaf) return;
      for (Range& group : groups) {
        // Those that end here need nothing more: their scores hang on the shared node.
        if (tokens(group.begin).size() == shared) continue;
        group.covered = shared;
        group.parent = node;
        open_later(group);
      }
    } else {
      for (const Range& group : groups) open_later(group);
    }
    flush();
  }

  // Parts of the range that agree on one token more; those that end at `shared` first, as one part.
  std::vector<Range> groups_of(const Range& range, std::size_t shared) const {
    std::vector<Range> groups;
    std::size_t begin = range.begin;
    while (begin < range.end) {
      std::size_t end = begin + 1;
      if (tokens(begin).size() == shared) {
        while (end < range.end && tokens(end).size() == shared) ++end;
        groups.push_back({begin, end, range.covered, shared, range.parent});
      } else {
        const int next = tokens(begin)[shared];
        while (end < range.end && tokens(end)[shared] == next) ++end;
        groups.push_back({begin, end, range.covered, shared + 1, range.parent});
      }
      begin = end;
    }
    return groups;
  }

  std::size_t add_node(const Range& range, std::size_t end) {
    const std::size_t index = tree_.nodes.size();
    PrefixNode& node = tree_.nodes.emplace_back();
    node.tokens = tokens(range.begin).subspan(range.covered, end - range.covered);
    node.first_position = static_cast<std::int64_t>(range.covered);
    node.parent = range.parent;
    (range.parent == PrefixNode::kNone ? tree_.roots : tree_.nodes[range.parent].children)
        .push_back(index);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const ScoreRequest& request = requests_[order_[i]];
      const std::size_t last = std::min(end + 1, request.end);
      for (std::size_t p = std::max(range.covered + 1, request.start); p < last; ++p) {
        node.wanted.push_back({.row = static_cast<std::int64_t>(p - 1 - range.covered),
                               .target = request.tokens[p],
                               .request = order_[i],
                               .index = p - request.start,
                               .top = request.top});
      }
    }
    std::ranges::stable_sort(node.wanted, {}, &WantedScore::row);
    return index;
  }

  void open_later(const Range& range) { next_.push_back(range); }
  void flush() {
    open_.insert(open_.end(), next_.rbegin(), next_.rend());
    next_.clear();
  }

  std::span<const ScoreRequest> requests_;
  SharingRule rule_;
  std::vector<std::size_t> order_;  // requests with something to score, by their needed tokens
  std::vector<Range> open_, next_;  // a stack, so that nodes come in depth-first order
  PrefixTree tree_;
};

}  // namespace

PrefixTree make_prefix_tree(std::span<const ScoreRequest> requests, const SharingRule& rule) {
  return TreeMaker(requests, rule).make();
}

}  // namespace nb
