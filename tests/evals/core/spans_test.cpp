#include "evals/core/spans.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

using Sequences = std::vector<std::vector<int>>;
using enum CoreTaskType;

TEST(CoreSpans, CommonPrefixAndSuffixStopAtTheShortest) {
  const Sequences s = {{1, 2, 3}, {1, 2}, {1, 2, 4}};
  EXPECT_EQ(common_prefix(s), 2u);
  EXPECT_EQ(common_suffix(s), 0u);
  EXPECT_EQ(common_suffix(Sequences{{9, 2, 3}, {2, 3}}), 2u);
  EXPECT_EQ(common_prefix(Sequences{{5, 6}}), 2u);
}

TEST(CoreSpans, MultipleChoiceStartsWhereChoicesDiffer) {
  const auto requests = *spans_of({{0, 7, 8, 1}, {0, 7, 8, 2, 3}}, kMultipleChoice);
  EXPECT_EQ(requests[0].start, 3u);
  EXPECT_EQ(requests[0].end, 4u);
  EXPECT_EQ(requests[1].start, 3u);
  EXPECT_EQ(requests[1].end, 5u);
}

TEST(CoreSpans, PrefixReachesIntoAnswersThatBeginAlike) {
  const auto requests =
      *spans_of({{0, 7, 5, 1}, {0, 7, 5, 2}}, kMultipleChoice);  // 5 is the answers' first token
  EXPECT_EQ(requests[0].start, 3u);
}

TEST(CoreSpans, ChoiceThatIsAPrefixHasAnEmptySpan) {
  const auto requests = *spans_of({{0, 7, 5}, {0, 7, 5, 2}}, kMultipleChoice);
  EXPECT_EQ(requests[0].start, requests[0].end);
  EXPECT_EQ(requests[1].end - requests[1].start, 1u);
}

TEST(CoreSpans, SuffixReachesIntoContextsThatEndAlike) {
  const auto requests =
      *spans_of({{0, 1, 4, 8, 9}, {0, 2, 3, 4, 8, 9}}, kSchema);  // 4 ends both contexts
  EXPECT_EQ(requests[0].start, 2u);
  EXPECT_EQ(requests[0].end, 5u);
  EXPECT_EQ(requests[1].start, 3u);
  EXPECT_EQ(requests[1].end, 6u);
}

TEST(CoreSpans, EqualOptionsScoreAllButTheFirstToken) {
  const auto requests = *spans_of({{0, 1, 2}, {0, 1, 2}}, kSchema);
  EXPECT_EQ(requests[0].start, 1u);
  EXPECT_EQ(requests[0].end, 3u);
}

TEST(CoreSpans, ModellingScoresWhatIsAppended) {
  const auto requests = *spans_of({{0, 1}, {0, 1, 2, 3}}, kLanguageModelling);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].tokens, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(requests[0].start, 2u);
  EXPECT_EQ(requests[0].end, 4u);
}

TEST(CoreSpans, ModellingRefusesATokenThatStraddles) {
  EXPECT_FALSE(spans_of({{0, 1}, {0, 5, 6}}, kLanguageModelling).has_value());
  EXPECT_FALSE(spans_of({{0, 1}, {0, 1}}, kLanguageModelling).has_value());
}

TEST(CutLeft, KeepsTheLastTokensAndShiftsTheSpan) {
  ScoreRequest request{{0, 1, 2, 3, 4, 5}, 4, 6};
  EXPECT_TRUE(*cut_left(request, 4));
  EXPECT_EQ(request.tokens, (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(request.start, 2u);
  EXPECT_EQ(request.end, 4u);
  EXPECT_FALSE(*cut_left(request, 4));
}

TEST(CutLeft, RefusesToCutWhatIsScored) {
  ScoreRequest request{{0, 1, 2, 3, 4, 5}, 3, 6};
  EXPECT_TRUE(cut_left(request, 4).has_value());  // one token before the span is left
  ScoreRequest tight{{0, 1, 2, 3, 4, 5}, 3, 6};
  const auto cut = cut_left(tight, 3);
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().message,
            "the scored part has 3 tokens, but the context holds 3; use a longer sequence length");
}

}  // namespace
}  // namespace nb
