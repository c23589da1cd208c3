#include "model/engine/language_model.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "harness/base/check.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/engine/fake_language_model.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"

namespace nb {
namespace {

ScoreRequest request_of(std::size_t length, std::size_t start, std::size_t end) {
  return {std::vector<int>(length, 7), start, end};
}

TEST(FakeLanguageModel, RuleSeesWhatComesBefore) {
  const Tokenizer tokenizer = nb::byte_tokenizer();
  FakeLanguageModel model(tokenizer, 8, [](std::span<const int> before, int token) {
    return FakeScore{-static_cast<float>(before.size()), before.back() + token};
  });
  const std::vector<ScoreRequest> requests = {{{3, 1, 4, 1, 5}, 2, 5}, {{9, 9}, 2, 2}};
  const auto results = model.score(requests);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].log_probs, (std::vector<float>{-2, -3, -4}));
  EXPECT_EQ(results[0].argmax, (std::vector<int>{5, 5, 6}));
  EXPECT_TRUE(results[1].log_probs.empty());
  EXPECT_EQ(model.scored_requests(), 2);
  EXPECT_EQ(model.scored_tokens(), 3);
}

TEST(FakeLanguageModel, ImpossibleSpansAreOurMistake) {
  const Tokenizer tokenizer = nb::byte_tokenizer();
  FakeLanguageModel model(tokenizer, 4, [](std::span<const int>, int) { return FakeScore{}; });
  for (const auto& bad :
       {request_of(4, 0, 2), request_of(4, 3, 2), request_of(4, 1, 5), request_of(5, 1, 2)})
    EXPECT_THROW(model.score(std::vector<ScoreRequest>{bad}), CheckFailure);
}

TEST(FakeLanguageModel, GeneratesByItsRule) {
  const Tokenizer tokenizer = nb::byte_tokenizer();
  FakeLanguageModel model(
      tokenizer, 8, [](std::span<const int>, int) { return FakeScore{}; },
      [](const GenerateRequest& request, int sample) {
        return std::vector<int>(request.prompt.size() + static_cast<std::size_t>(sample), 5);
      });
  const std::vector<GenerateRequest> requests = {
      {.prompt = {1, 2}, .num_samples = 2, .max_tokens = 3}};
  const auto results = model.generate(requests);
  ASSERT_EQ(results.size(), 1u);
  ASSERT_EQ(results[0].samples.size(), 2u);
  EXPECT_EQ(results[0].samples[0].tokens, (std::vector<int>{5, 5}));
  EXPECT_EQ(results[0].samples[0].stop, StopReason::kStopToken);
  EXPECT_EQ(results[0].samples[1].tokens, (std::vector<int>{5, 5, 5}));
  EXPECT_EQ(results[0].samples[1].stop, StopReason::kMaxTokens);
  EXPECT_EQ(results[0].samples[1].mask, (std::vector<std::uint8_t>{1, 1, 1}));
  EXPECT_EQ(model.generated_samples(), 2);
}

TEST(LanguageModel, CannotGenerateUnlessItSaysSo) {
  const Tokenizer tokenizer = nb::byte_tokenizer();
  FakeLanguageModel model(tokenizer, 8, [](std::span<const int>, int) { return FakeScore{}; });
  EXPECT_THROW(model.generate(std::vector<GenerateRequest>{{.prompt = {1}}}), CheckFailure);
}

TEST(LanguageModel, ImpossibleGenerationsAreOurMistake) {
  const GenerateRequest good = {.prompt = {1, 2, 3}, .top_k = 1};
  EXPECT_NO_THROW(check_request(good, 3));
  EXPECT_THROW(check_request(good, 2), CheckFailure);
  for (const auto& spoil : std::vector<std::function<void(GenerateRequest&)>>{
           [](GenerateRequest& r) { r.prompt.clear(); }, [](GenerateRequest& r) { r.top_k = 0; },
           [](GenerateRequest& r) { r.num_samples = 0; },
           [](GenerateRequest& r) { r.max_tokens = -1; },
           [](GenerateRequest& r) { r.temperature = -0.5; }}) {
    GenerateRequest bad = good;
    spoil(bad);
    EXPECT_THROW(check_request(bad, 3), CheckFailure);
  }
}

TEST(Batches, HoldLikeLengthsWithinBothLimits) {
  std::vector<ScoreRequest> requests;
  for (const std::size_t length : {5u, 30u, 7u, 6u, 31u, 4u})
    requests.push_back(request_of(length, 1, length));
  requests.push_back(request_of(9, 3, 3));  // nothing to score
  const auto batches = batches_of(requests, {.max_rows = 3, .max_tokens = 62});
  const std::vector<std::vector<std::size_t>> want = {{4, 1}, {2, 3, 0}, {5}};
  EXPECT_EQ(batches, want);
}

TEST(Batches, LongSequenceGoesAlone) {
  const std::vector<ScoreRequest> requests = {request_of(100, 1, 2), request_of(90, 1, 2)};
  const std::vector<std::vector<std::size_t>> want = {{0}, {1}};
  EXPECT_EQ(batches_of(requests, {.max_rows = 8, .max_tokens = 64}), want);
}

}  // namespace
}  // namespace nb
