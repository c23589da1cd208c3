#include "evals/core/grade.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

ItemRecord of_choices(const std::vector<std::vector<float>>& log_probs, int gold,
                      ScorerFault fault = ScorerFault::kNone) {
  CoreItem item;
  item.id = "0123456789abcdef";
  item.gold = gold;
  std::vector<ScoreResult> scores;
  for (const auto& one : log_probs) scores.push_back({one, {}});
  const std::vector<ScoreRequest> requests(scores.size());
  return grade(item, CoreTaskType::kMultipleChoice, requests, scores, test::toy_tokenizer(), fault);
}

// A continuation of which the model would have said `said`.
ItemRecord of_text(const std::string& wanted, const std::string& said,
                   ScorerFault fault = ScorerFault::kNone) {
  const Tokenizer& tokenizer = test::toy_tokenizer();
  ScoreRequest request;
  request.tokens = {tokenizer.bos()};
  for (const int token : tokenizer.encode(wanted)) request.tokens.push_back(token);
  request.start = 1;
  request.end = request.tokens.size();
  ScoreResult score;
  score.argmax = tokenizer.encode(said);
  score.log_probs.assign(request.end - request.start, -0.5f);
  return grade({}, CoreTaskType::kLanguageModelling, {&request, 1}, {&score, 1}, tokenizer, fault);
}

TEST(CoreMark, TheHighestMeanIsThePrediction) {
  const ItemRecord right = of_choices({{-3, -1}, {-1, -2}, {-4}}, 1);
  EXPECT_TRUE(right.ok);
  EXPECT_EQ(right.id, "0123456789abcdef");
  EXPECT_EQ(right.prediction, "1");
  EXPECT_EQ(right.gold, "1");
  EXPECT_EQ(right.log_probs, (std::vector<float>{-2.0f, -1.5f, -4.0f}));
  EXPECT_EQ(right.reason, "");
  EXPECT_FALSE(of_choices({{-3, -1}, {-1, -2}, {-4}}, 0).ok);
  EXPECT_TRUE(of_choices({{-3, -1}, {-1, -2}, {-4}}, 0, ScorerFault::kSecondBest).ok);
}

TEST(CoreMark, AModelThatIsNotFiniteHasNoPick) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const std::size_t place : {0u, 1u, 2u}) {
      std::vector<std::vector<float>> scores = {{-3}, {-1}, {-2}};
      scores[place] = {bad, -1};
      const ItemRecord record = of_choices(scores, 1);
      EXPECT_EQ(record.reason, kNotFinite) << bad << " at " << place;
      EXPECT_TRUE(record.log_probs.empty());
      EXPECT_FALSE(record.ok);
      EXPECT_EQ(record.prediction, "");
      EXPECT_EQ(record.gold, "1");
    }
  }
  // Not even where the rule for choices without tokens decides.
  EXPECT_EQ(of_choices({{}, {kNan}}, 0).reason, kNotFinite);
  EXPECT_FALSE(of_choices({{}, {kNan}}, 0).ok);
}

TEST(CoreMark, AContinuationOfAModelThatIsNotFiniteHasNoMark) {
  const Tokenizer& tokenizer = test::toy_tokenizer();
  ScoreRequest request{{tokenizer.bos()}, 1, 0};
  for (const int token : tokenizer.encode(" fox")) request.tokens.push_back(token);
  request.end = request.tokens.size();
  ScoreResult score{std::vector<float>(request.end - 1, kNan), tokenizer.encode(" fox")};
  const ItemRecord record = grade({}, CoreTaskType::kLanguageModelling, {&request, 1}, {&score, 1},
                                  tokenizer, ScorerFault::kNone);
  EXPECT_FALSE(record.ok);
  EXPECT_EQ(record.reason, kNotFinite);
  EXPECT_EQ(record.gold, " fox");
}

TEST(CoreMark, ChoicesWithoutTokensOfTheirOwnAreNamed) {
  EXPECT_EQ(of_choices({{}, {-1}}, 0).reason, kAlwaysRight);
  EXPECT_EQ(of_choices({{}, {-1}}, 1).reason, kAlwaysWrong);
  EXPECT_EQ(of_choices({{-1}, {}}, 1).reason, kAlwaysWrong);
  EXPECT_EQ(of_choices({{-1}, {-2}, {}}, 1).reason, kNoTokens);
}

TEST(CoreMark, AContinuationIsRightWhenEveryTokenIsTheLikeliest) {
  const ItemRecord right = of_text(" fox", " fox");
  EXPECT_TRUE(right.ok);
  EXPECT_EQ(right.prediction, " fox");
  EXPECT_EQ(right.gold, " fox");
  EXPECT_EQ(right.log_probs, std::vector<float>{-0.5f});
  EXPECT_FALSE(of_text(" fox", " foy").ok);
  EXPECT_FALSE(of_text(" fox", " gox").ok);
}

TEST(CoreMark, ARightContinuationIsWrongWithTheFault) {
  EXPECT_FALSE(of_text(" fox", " fox", ScorerFault::kSecondBest).ok);
}

TEST(CoreMark, TextsAreShownTo40Characters) {
  const std::string text = "0123456789012345678901234567890123456789";
  EXPECT_EQ(of_text(text, text).gold, text);
  EXPECT_EQ(of_text(text + "z", text + "y").gold, text);
  EXPECT_EQ(of_text(text + "z", text + "y").prediction, text);
}

}  // namespace
}  // namespace nb
