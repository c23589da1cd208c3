// Log-probabilities of samples and scores: one number for one token, to the bit.
#include "model/engine/log_probs.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "harness/base/check.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/engine/fake_language_model.hpp"
#include "model/engine/generator.hpp"
#include "tests/model/engine/scripted_model.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

using test::byte_tokenizer;
using test::kByteVocab;
using test::ScriptedModel;
using test::SmallDecoder;

DeviceProfile in_fp32() {
  DeviceProfile profile = load_profile("h100_sxm").value();
  NumericsPolicy& numerics = profile.numerics;
  numerics.storage = numerics.matmul_inputs = numerics.matmul_output = DType::kFp32;
  numerics.weight_gradient = numerics.embedding_weight = DType::kFp32;
  return profile;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<GenerateRequest> wishes(int top) {
  std::vector<GenerateRequest> requests;
  for (int i = 0; i < 5; ++i) {
    GenerateRequest request;
    for (int k = 0; k <= i; ++k) request.prompt.push_back('a' + 7 * i + k);
    request.num_samples = 1 + i % 3;
    request.max_tokens = 9;
    request.temperature = i == 3 ? 0 : .5 + i;
    request.seed = static_cast<std::uint64_t>(i);
    request.tools = false;
    request.log_probs = true;
    request.top = top;
    requests.push_back(request);
  }
  // The log-probabilities are those before any rule.
  requests[1].sampling = {.top_p = .7, .repetition_penalty = 1.5, .logit_bias = {{65, 3}}};
  requests[2].top_k = 4;
  requests[2].sampling.ties = TopKTies::kAll;
  return requests;
}

TEST(LogProbs, OfSamplesAreTheScoresOfTheirTokens) {
  const DeviceProfile bf16 = load_profile("ascend_910b3").value();
  for (const DeviceProfile& profile : {bf16, in_fp32()}) {
    SmallDecoder small(profile);
    for (const bool shares : {true, false}) {
      DecoderLanguageModel model(*small.decoder, byte_tokenizer(), {.share_prefixes = shares});
      const std::vector<GenerateRequest> requests = wishes(5);
      const std::vector<GenerateResult> results = model.generate(requests);
      for (std::size_t r = 0; r < requests.size(); ++r) {
        for (const GeneratedSample& sample : results[r].samples) {
          ScoreRequest request;
          request.tokens = requests[r].prompt;
          request.start = request.tokens.size();
          request.tokens.insert(request.tokens.end(), sample.tokens.begin(), sample.tokens.end());
          request.end = request.tokens.size();
          request.top = 5;
          const ScoreResult score = model.score({&request, 1}).front();
          ASSERT_EQ(sample.log_probs.size(), sample.tokens.size());
          EXPECT_EQ(bits_of(sample.log_probs), bits_of(score.log_probs)) << r << shares;
          EXPECT_EQ(sample.top, score.top) << r << shares;
        }
      }
    }
  }
}

TEST(LogProbs, WishedOrNotTheTokensAreTheSame) {
  SmallDecoder small("ascend_910b3");
  DecoderLanguageModel model(*small.decoder, byte_tokenizer());
  std::vector<GenerateRequest> requests = wishes(3);
  const auto with = model.generate(requests);
  for (GenerateRequest& request : requests) {
    request.log_probs = false;
    request.top = 0;
  }
  const auto without = model.generate(requests);
  for (std::size_t r = 0; r < requests.size(); ++r) {
    for (std::size_t s = 0; s < with[r].samples.size(); ++s) {
      EXPECT_EQ(with[r].samples[s].tokens, without[r].samples[s].tokens);
      EXPECT_TRUE(without[r].samples[s].log_probs.empty());
      EXPECT_TRUE(without[r].samples[s].top.empty());
    }
  }
}

std::vector<ScoreRequest> scores_with_top(int top) {
  const std::vector<int> tokens = {'t', 'h', 'e', ' ', 'c', 'a', 't', '!'};
  std::vector<ScoreRequest> requests;
  for (std::size_t end = 3; end <= tokens.size(); ++end) {
    ScoreRequest request;
    request.tokens.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(end));
    if (end > 4) request.tokens[4] = static_cast<int>(60 + end);  // several targets at one row
    request.start = end % 3 == 0 ? 1 : end - 2;
    request.end = end;
    request.top = end == 5 ? 0 : top;
    requests.push_back(request);
  }
  return requests;
}

TEST(LogProbs, TopOfAScoreIsInOrderAndChangesNoScore) {
  const DeviceProfile bf16 = load_profile("ascend_910b3").value();
  for (const DeviceProfile& profile : {bf16, in_fp32()}) {
    SmallDecoder small(profile);
    // There two logits may have one log-probability; the order is the logits'.
    const bool is_fp32 = profile.numerics.storage == DType::kFp32;
    for (const bool shares : {true, false}) {
      DecoderLanguageModel model(*small.decoder, byte_tokenizer(), {.share_prefixes = shares});
      const auto requests = scores_with_top(kByteVocab + 5), plain = scores_with_top(0);
      const std::vector<ScoreResult> results = model.score(requests), expected = model.score(plain);
      for (std::size_t r = 0; r < requests.size(); ++r) {
        EXPECT_EQ(bits_of(results[r].log_probs), bits_of(expected[r].log_probs));
        EXPECT_EQ(results[r].argmax, expected[r].argmax);
        EXPECT_TRUE(expected[r].top.empty());
        if (requests[r].top == 0) {
          EXPECT_TRUE(results[r].top.empty());
          continue;
        }
        ASSERT_EQ(results[r].top.size(), results[r].log_probs.size());
        for (std::size_t i = 0; i < results[r].top.size(); ++i) {
          const std::vector<TokenLogProb>& top = results[r].top[i];
          ASSERT_EQ(top.size(), static_cast<std::size_t>(kByteVocab));
          EXPECT_EQ(top.front().token, results[r].argmax[i]);
          double sum = 0;
          for (std::size_t k = 0; k < top.size(); ++k) {
            sum += std::exp(static_cast<double>(top[k].log_prob));
            if (top[k].token == requests[r].tokens[requests[r].start + i]) {
              EXPECT_EQ(std::bit_cast<std::uint32_t>(top[k].log_prob),
                        std::bit_cast<std::uint32_t>(results[r].log_probs[i]));
            }
            if (k == 0) continue;
            EXPECT_TRUE(top[k - 1].log_prob > top[k].log_prob ||
                        (top[k - 1].log_prob == top[k].log_prob &&
                         (top[k - 1].token < top[k].token || is_fp32)))
                << r << ", " << i << ", " << k;
          }
          EXPECT_NEAR(sum, 1, 1e-5);
        }
      }
    }
  }
}

TEST(MostLikely, LowestIdFirstAmongEqualsAndOnlyOfTheIdsThatAreAsked) {
  const std::vector<float> row = {1, 3, 2, 3, 2, std::nanf(""), 9};
  const auto tokens = [&](std::int64_t ids, int k) {
    std::vector<int> its;
    for (const TokenLogProb& pair : most_likely(row, ids, k, {})) its.push_back(pair.token);
    return its;
  };
  EXPECT_EQ(tokens(7, 4), (std::vector<int>{6, 1, 3, 2}));
  EXPECT_EQ(tokens(6, 4), (std::vector<int>{1, 3, 2, 4}));
  EXPECT_EQ(tokens(6, 99), (std::vector<int>{1, 3, 2, 4, 0}));
  EXPECT_EQ(tokens(7, 0), std::vector<int>{});
}

TEST(LogProbs, ForcedTokensHaveNone) {
  const std::string said = "1+1";
  const int start = byte_tokenizer().special("<|python_start|>");
  const int end = byte_tokenizer().special("<|python_end|>");
  const int bos = byte_tokenizer().special("<|bos|>");
  const std::vector<int> words = {start, '1', '+', '1', end, 'X', 'X', 'X', bos};
  ScriptedModel decoder(kByteVocab, 100, [&](const std::vector<int>& sequence) {
    return words.at(sequence.size() - 1);
  });
  const GenerateRequest request = {.prompt = {3}, .temperature = 0, .top = 2};
  const GeneratedSample sample =
      generate(decoder, byte_tokenizer(), {&request, 1}).front().samples.front();
  ASSERT_EQ(sample.tokens.size(), 8U);
  ASSERT_EQ(sample.log_probs.size(), 8U);
  ASSERT_EQ(sample.top.size(), 8U);
  const double expected = 5 - std::log(std::exp(5.0) + kByteVocab - 1);
  for (std::size_t i = 0; i < 8; ++i) {
    const bool chosen = sample.mask[i] != 0;
    EXPECT_NEAR(sample.log_probs[i], chosen ? expected : 0, 1e-5) << i;
    EXPECT_EQ(sample.top[i].size(), chosen ? 2U : 0U) << i;
    if (!chosen) continue;
    EXPECT_EQ(sample.top[i][0], (TokenLogProb{sample.tokens[i], sample.log_probs[i]}));
  }
  EXPECT_EQ(sample.stop_token, bos);
}

TEST(LogProbs, ADryDeviceHasNone) {
  SmallDecoder dry("ascend_910b3", ExecutionMode::kDry);
  DecoderLanguageModel model(*dry.decoder, byte_tokenizer());
  const GenerateRequest request = {.prompt = {1, 2}, .max_tokens = 3, .top = 2};
  const GeneratedSample sample = model.generate({&request, 1}).front().samples.front();
  EXPECT_EQ(sample.log_probs, std::vector<float>(3, 0.0F));
  EXPECT_EQ(sample.top, std::vector<std::vector<TokenLogProb>>(3));
  const ScoreRequest scored = {{1, 2, 3}, 1, 3, 4};
  EXPECT_EQ(model.score({&scored, 1}).front().top.size(), 2U);
}

TEST(FakeLanguageModel, TellsTheLogProbsOfItsRule) {
  FakeLanguageModel model(
      byte_tokenizer(), 64,
      [](std::span<const int> before, int token) {
        return FakeScore{-static_cast<float>(before.size()) - static_cast<float>(token) / 1000, 1};
      },
      [](const GenerateRequest&, int sample) {
        return std::vector<int>{7, 8, sample};
      });
  GenerateRequest request = {.prompt = {1, 2}, .num_samples = 2, .top = 1};
  request.on_token = [](const NewToken& heard) {
    return heard.sample == 1 && heard.token == 8 ? AfterToken::kStop : AfterToken::kContinue;
  };
  const auto samples = model.generate({&request, 1}).front().samples;
  EXPECT_EQ(samples[0].log_probs, (std::vector<float>{-2.007F, -3.008F, -4}));
  EXPECT_EQ(samples[1].tokens, (std::vector<int>{7, 8}));
  EXPECT_EQ(samples[1].stop, StopReason::kCaller);
  EXPECT_EQ(samples[1].log_probs.size(), 2U);
}

}  // namespace
}  // namespace nb
