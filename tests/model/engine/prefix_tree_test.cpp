#include "model/engine/prefix_tree.hpp"

#include <gtest/gtest.h>

#include <map>

#include "harness/base/rng.hpp"

namespace nb {
namespace {

constexpr SharingRule kShareAll = {.min_shared_tokens = 1, .min_saved_tokens = 1};

std::vector<int> path_tokens(const PrefixTree& tree, std::size_t node) {
  std::vector<int> tokens;
  if (tree.nodes[node].parent != PrefixNode::kNone)
    tokens = path_tokens(tree, tree.nodes[node].parent);
  EXPECT_EQ(std::ssize(tokens), tree.nodes[node].first_position);
  tokens.insert(tokens.end(), tree.nodes[node].tokens.begin(), tree.nodes[node].tokens.end());
  return tokens;
}

// Every score of every request is wanted exactly once, behind the tokens that come before it.
void expect_complete(std::span<const ScoreRequest> requests, const PrefixTree& tree) {
  std::map<std::pair<std::size_t, std::size_t>, int> seen;
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    const PrefixNode& node = tree.nodes[n];
    EXPECT_FALSE(node.tokens.empty());
    if (node.parent != PrefixNode::kNone) {
      EXPECT_LT(node.parent, n);
    }
    const std::vector<int> path = path_tokens(tree, n);
    std::int64_t row = 0;
    for (const WantedScore& wanted : node.wanted) {
      EXPECT_LE(row, wanted.row);
      row = wanted.row;
      ASSERT_LT(row, std::ssize(node.tokens));
      const ScoreRequest& request = requests[wanted.request];
      const std::size_t at = request.start + wanted.index;
      ASSERT_LT(at, request.end);
      EXPECT_EQ(wanted.target, request.tokens[at]);
      EXPECT_EQ(static_cast<std::size_t>(node.first_position + row + 1), at);
      EXPECT_TRUE(std::equal(path.begin(), path.begin() + node.first_position + row + 1,
                             request.tokens.begin(),
                             request.tokens.begin() + static_cast<std::ptrdiff_t>(at)));
      ++seen[{wanted.request, wanted.index}];
    }
  }
  for (std::size_t r = 0; r < requests.size(); ++r)
    for (std::size_t i = 0; i < requests[r].end - requests[r].start; ++i)
      EXPECT_EQ((seen[{r, i}]), 1) << "request " << r << ", score " << i;
}

// What a forward pass must compute.
std::int64_t token_count(const PrefixTree& tree) {
  std::int64_t count = 0;
  for (const PrefixNode& node : tree.nodes) count += std::ssize(node.tokens);
  return count;
}

TEST(PrefixTree, SharesWhatRequestsBeginWith) {
  const std::vector<ScoreRequest> requests = {
      {{1, 2, 3, 4, 5, 6}, 4, 6}, {{1, 2, 3, 7, 8}, 3, 5}, {{9, 9}, 1, 2}, {{1, 2, 3, 4, 0}, 4, 5}};
  const PrefixTree tree = make_prefix_tree(requests, kShareAll);
  expect_complete(requests, tree);
  // 1 2 3 ─ 4 (end of the last request) ─ 5; ─ 7; and 9.
  EXPECT_EQ(token_count(tree), 7);
  EXPECT_EQ(tree.roots.size(), 2u);
  const PrefixNode& root = tree.nodes[tree.roots[0]];
  EXPECT_EQ(std::vector<int>(root.tokens.begin(), root.tokens.end()), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(root.children.size(), 2u);
}

TEST(PrefixTree, LettersOfOneQuestionAreOneNode) {
  std::vector<ScoreRequest> requests;
  for (int letter = 0; letter < 4; ++letter) requests.push_back({{5, 6, 7, 100 + letter}, 3, 4});
  const PrefixTree tree = make_prefix_tree(requests);
  expect_complete(requests, tree);
  ASSERT_EQ(tree.nodes.size(), 1u);
  EXPECT_EQ(tree.nodes[0].wanted.size(), 4u);
  EXPECT_EQ(token_count(tree), 3);
}

TEST(PrefixTree, EmptySpansNeedNothing) {
  const std::vector<ScoreRequest> requests = {{{1, 2}, 2, 2}, {{3}, 1, 1}};
  EXPECT_TRUE(make_prefix_tree(requests).nodes.empty());
  EXPECT_TRUE(make_prefix_tree({}).nodes.empty());
}

TEST(PrefixTree, LeavesShortOrCheapPrefixesToThoseWhoShareThem) {
  std::vector<ScoreRequest> requests;
  for (int i = 0; i < 50; ++i) requests.push_back({{0, 1, 10 + i, 5}, 3, 4});
  EXPECT_EQ(
      make_prefix_tree(requests, {.min_shared_tokens = 3, .min_saved_tokens = 1}).roots.size(),
      50u);
  EXPECT_EQ(
      make_prefix_tree(requests, {.min_shared_tokens = 2, .min_saved_tokens = 99}).roots.size(),
      50u);
  const PrefixTree tree =
      make_prefix_tree(requests, {.min_shared_tokens = 2, .min_saved_tokens = 98});
  EXPECT_EQ(tree.roots.size(), 1u);
  expect_complete(requests, tree);
}

// A run that is not worth a node of its own still counts for a longer one below it.
TEST(PrefixTree, ShortPrefixJoinsTheNextRun) {
  const std::vector<ScoreRequest> requests = {
      {{1, 2, 2, 2, 3, 0}, 5, 6}, {{1, 2, 2, 2, 4, 0}, 5, 6}, {{1, 5, 0}, 2, 3}};
  const PrefixTree tree =
      make_prefix_tree(requests, {.min_shared_tokens = 4, .min_saved_tokens = 1});
  expect_complete(requests, tree);
  EXPECT_EQ(tree.roots.size(), 2u);
  EXPECT_EQ(tree.nodes[tree.roots[0]].tokens.size(), 4u);
  EXPECT_EQ(token_count(tree), 4 + 1 + 1 + 2);
}

TEST(PrefixTree, RandomRequestsAreComplete) {
  const Rng rng(11, "test/tree");
  std::uint64_t draw = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<ScoreRequest> requests;
    const std::uint64_t alphabet = 1 + rng.below(draw++, 3);
    const std::size_t count = rng.below(draw++, 20);
    for (std::size_t i = 0; i < count; ++i) {
      ScoreRequest request;
      const std::size_t size = 1 + rng.below(draw++, 12);
      for (std::size_t k = 0; k < size; ++k)
        request.tokens.push_back(static_cast<int>(rng.below(draw++, alphabet)));
      request.start = 1 + rng.below(draw++, size);
      request.end = request.start + rng.below(draw++, size - request.start + 1);
      requests.push_back(request);
    }
    for (const SharingRule& rule :
         {kShareAll, SharingRule{}, SharingRule{.min_shared_tokens = 2, .min_saved_tokens = 4}})
      expect_complete(requests, make_prefix_tree(requests, rule));
  }
}

}  // namespace
}  // namespace nb
