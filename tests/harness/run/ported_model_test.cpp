// Scores and texts with a port's caches: functions of the request alone, like the right ones.
#include "harness/run/ported_model.hpp"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

using test::SmallDecoder;

const PortDefects kRope({PortDefect::kRopePositions}), kStale({PortDefect::kStaleKvCache});

class PortedModel : public ::testing::Test {
 protected:
  std::unique_ptr<LanguageModel> model(const PortDefects& defects) {
    return ported_model(*small_.decoder, tokenizer_, {}, defects);
  }
  static std::vector<ScoreRequest> scores() {
    std::vector<ScoreRequest> requests;
    for (int r = 0; r < 5; ++r) {
      ScoreRequest request;
      for (int i = 0; i < 14; ++i)
        request.tokens.push_back((i < 9 ? i * i : i * (r + 3)) % 90 + 32);
      request.start = r == 4 ? 13 : 9;
      request.end = 14;
      requests.push_back(request);
    }
    return requests;
  }
  static std::vector<GenerateRequest> texts() {
    std::vector<GenerateRequest> requests;
    for (int r = 0; r < 3; ++r) {
      GenerateRequest request;
      for (int i = 0; i < 6 + r; ++i) request.prompt.push_back((i * 7 + r) % 90 + 32);
      request.num_samples = 2;
      request.max_tokens = 12;
      request.temperature = 1;
      requests.push_back(request);
    }
    return requests;
  }
  static std::vector<int> tokens_of(const GenerateResult& result) {
    std::vector<int> tokens;
    for (const GeneratedSample& sample : result.samples)
      tokens.insert(tokens.end(), sample.tokens.begin(), sample.tokens.end());
    return tokens;
  }

  SmallDecoder small_{"ascend_910b3"};
  const Tokenizer& tokenizer_ = test::byte_tokenizer();
};

TEST_F(PortedModel, ScoresBehindACachedPromptDiffer) {
  const auto requests = scores();
  const auto right = model({})->score(requests), wrong = model(kRope)->score(requests);
  for (std::size_t r = 0; r < requests.size(); ++r) {
    EXPECT_EQ(right[r].log_probs[0], wrong[r].log_probs[0]) << r;  // seen from the prompt
    EXPECT_EQ(right[r].log_probs != wrong[r].log_probs, requests[r].end - requests[r].start > 1);
    const auto alone = model(kRope)->score(std::span(requests).subspan(r, 1));
    EXPECT_EQ(alone[0].log_probs, wrong[r].log_probs) << r;
    EXPECT_EQ(alone[0].argmax, wrong[r].argmax) << r;
  }
  const auto stale = model(kStale)->score(requests);
  for (std::size_t r = 0; r < requests.size(); ++r)
    EXPECT_EQ(right[r].log_probs, stale[r].log_probs) << r;
}

TEST_F(PortedModel, TextsDifferBehindTheirFirstToken) {
  const auto requests = texts();
  const auto right = model({})->generate(requests);
  for (const PortDefects& defects : {kRope, kStale}) {
    const auto wrong = model(defects)->generate(requests);
    bool differs = false;
    for (std::size_t r = 0; r < requests.size(); ++r) {
      EXPECT_EQ(right[r].samples[0].tokens.front(), wrong[r].samples[0].tokens.front());
      differs = differs || tokens_of(right[r]) != tokens_of(wrong[r]);
      const auto alone = model(defects)->generate(std::span(requests).subspan(r, 1));
      EXPECT_EQ(tokens_of(alone[0]), tokens_of(wrong[r])) << r;
    }
    EXPECT_TRUE(differs) << defects.names()[0];
  }
}

TEST(PortedTokenizer, HasTheSameTokensUnderOtherIds) {
  Vocabulary vocabulary = test::byte_tokenizer().vocabulary();
  EXPECT_FALSE(with_last_merges_reversed(Tokenizer(vocabulary)));
  const int size = vocabulary.size();
  for (const char* more : {"th", "he", "in"}) vocabulary.tokens.emplace_back(more);
  const Tokenizer right(vocabulary);
  const auto wrong = with_last_merges_reversed(right);
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_EQ(wrong->vocab_size(), right.vocab_size());
  EXPECT_EQ(right.encode("th"), std::vector<int>{size});
  EXPECT_EQ(wrong->encode("th"), std::vector<int>{size + 2});
  EXPECT_EQ(wrong->encode("he"), std::vector<int>{size + 1});
  EXPECT_NE(wrong->hash(), right.hash());
}

TEST(PortedItems, AreTheFirstHalfTwice) {
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < 5; ++i) asked.push_back(first_half_twice(i, 5));
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 1, 2, 0, 1}));
}

}  // namespace
}  // namespace nb
