// Which nodes of a prefix tree a forward pass holds. Scores: gpt_language_model_test.
#include "model/engine/tree_scorer.hpp"

#include <gtest/gtest.h>

#include "tests/model/engine/scripted_model.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

TreeStats stats_of(const std::vector<ScoreRequest>& requests, const TreeBatching& batching) {
  test::ScriptedModel decoder(test::kByteVocab, 100, [](const std::vector<int>&) { return 1; });
  std::vector<ScoreResult> results(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    results[i].log_probs.resize(requests[i].end - requests[i].start);
    results[i].argmax.resize(requests[i].end - requests[i].start);
  }
  const TreeStats stats = score_tree(decoder, make_prefix_tree(requests), batching, results);
  EXPECT_LE(decoder.most_rows(), batching.max_tokens);
  for (const ScoreResult& result : results)
    for (const int token : result.argmax) EXPECT_EQ(token, 1);
  return stats;
}

// Requests of five tokens need four rows each.
TEST(TreeScorer, APassIsFilledToTheLastRow) {
  const std::vector<ScoreRequest> two = {{{1, 2, 3, 4, 5}, 4, 5}, {{9, 8, 7, 6, 5}, 4, 5}};
  EXPECT_EQ(stats_of(two, {.max_tokens = 8}).passes, 1);
  EXPECT_EQ(stats_of(two, {.max_tokens = 9}).passes, 1);
  EXPECT_EQ(stats_of(two, {.max_tokens = 7}).passes, 2);
  EXPECT_EQ(stats_of(two, {.max_tokens = 4}).passes, 2);
  EXPECT_EQ(stats_of(two, {.max_tokens = 3}).passes, 4);
  EXPECT_EQ(stats_of(two, {.max_chunks = 1, .max_tokens = 8}).passes, 2);
  for (const std::int64_t max_tokens : {1, 3, 8, 100}) {
    const TreeStats stats = stats_of(two, {.max_tokens = max_tokens});
    EXPECT_EQ(stats.tokens, 8);
    EXPECT_EQ(stats.logit_rows, 2);
  }
}

}  // namespace
}  // namespace nb
