// Who hears a sample's tokens may end it; and the rules that hold an end back.
#include <gtest/gtest.h>

#include <vector>

#include "harness/base/check.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/engine/generator.hpp"
#include "tests/model/engine/scripted_model.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

using test::byte_tokenizer;
using test::kByteVocab;
using test::ScriptedModel;
using test::SmallDecoder;

TEST(OnToken, AStoppedSampleLeavesTheOthersBits) {
  SmallDecoder small("ascend_910b3");
  std::vector<GenerateRequest> requests;
  for (int i = 0; i < 4; ++i) {
    GenerateRequest request;
    request.prompt = {'x', 'a' + i};
    request.num_samples = 3;
    request.max_tokens = 8;
    request.temperature = 2;
    request.tools = false;
    request.log_probs = true;
    request.seed = static_cast<std::uint64_t>(i);
    request.stop_tokens = {kByteVocab - 1};
    requests.push_back(request);
  }
  for (const std::int64_t rows : {64, 2}) {
    DecoderLanguageModel model(*small.decoder, byte_tokenizer(), {.max_rows = rows});
    const auto whole = model.generate(requests);
    for (const std::size_t ends : {1U, 3U, 8U}) {
      std::vector<GenerateRequest> stopping = requests;
      std::size_t heard = 0;
      stopping[1].on_token = [&](const NewToken& token) {
        if (token.sample != 2) return AfterToken::kContinue;
        return ++heard == ends ? AfterToken::kStop : AfterToken::kContinue;
      };
      const auto results = model.generate(stopping);
      EXPECT_EQ(heard, ends);
      for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t s = 0; s < 3; ++s) {
          const GeneratedSample& was = whole[r].samples[s];
          const GeneratedSample& is = results[r].samples[s];
          const bool stopped = r == 1 && s == 2;
          const auto size = static_cast<std::ptrdiff_t>(stopped ? ends : was.tokens.size());
          EXPECT_EQ(is.tokens, std::vector<int>(was.tokens.begin(), was.tokens.begin() + size));
          EXPECT_EQ(is.log_probs,
                    std::vector<float>(was.log_probs.begin(), was.log_probs.begin() + size));
          EXPECT_EQ(is.mask.size(), is.tokens.size());
          EXPECT_EQ(is.stop, stopped ? StopReason::kCaller : was.stop);
        }
      }
    }
  }
}

TEST(OnToken, AStoppedSampleFreesItsPlaceAtOnce) {
  std::vector<GenerateRequest> requests(3, {.prompt = {5}, .max_tokens = 50, .temperature = 0});
  requests[0].on_token = [](const NewToken&) { return AfterToken::kStop; };
  ScriptedModel decoder(kByteVocab, 500, [](const std::vector<int>&) { return 'a'; });
  GenerateStats stats;
  const auto results = generate(decoder, byte_tokenizer(), requests, {.max_samples = 1}, &stats);
  EXPECT_EQ(results[0].samples[0].tokens, std::vector<int>{'a'});
  EXPECT_EQ(results[2].samples[0].tokens.size(), 50U);
  EXPECT_EQ(stats.tokens, 1 + 50 + 50);
}

// "1+1" forces three tokens at once; the sample ends with the one that was heard last.
TEST(OnToken, MayEndASampleAmongForcedTokens) {
  const int output = byte_tokenizer().special("<|output_start|>");
  const std::vector<int> words = {byte_tokenizer().special("<|python_start|>"), '1', '+', '1',
                                  byte_tokenizer().special("<|python_end|>"),   'X', 'X', 'X'};
  ScriptedModel decoder(kByteVocab, 100, [&](const std::vector<int>& sequence) {
    return words.at(std::min(sequence.size() - 1, words.size() - 1));
  });
  GenerateRequest request = {.prompt = {3}, .temperature = 0, .log_probs = true};
  request.on_token = [&](const NewToken& token) {
    return token.token == output ? AfterToken::kStop : AfterToken::kContinue;
  };
  const auto sample = generate(decoder, byte_tokenizer(), {&request, 1}).front().samples.front();
  EXPECT_EQ(sample.tokens.size(), 6U);
  EXPECT_EQ(sample.tokens.back(), output);
  EXPECT_EQ(sample.log_probs.size(), 6U);
  EXPECT_EQ(sample.stop, StopReason::kCaller);
}

// The model wants to end at once; the id that may not come yet is left out of the draw.
TEST(Generate, MinTokensHoldTheEndBack) {
  const int bos = byte_tokenizer().bos();
  ScriptedModel decoder(kByteVocab, 100, [&](const std::vector<int>&) { return bos; });
  for (const std::int64_t tokens : {0, 1, 4}) {
    GenerateRequest request = {.prompt = {3}, .temperature = 0};
    request.sampling.min_tokens = tokens;
    const auto sample = generate(decoder, byte_tokenizer(), {&request, 1}).front().samples.front();
    EXPECT_EQ(sample.tokens, std::vector<int>(static_cast<std::size_t>(tokens), 0));
    EXPECT_EQ(sample.stop, StopReason::kStopToken);
  }
}

TEST(Generate, PenaltiesSeePromptAndAnswer) {
  // 'b' is the likeliest always; a penalty for what was said makes the answer move on.
  ScriptedModel decoder(kByteVocab, 100, [](const std::vector<int>&) { return 'b'; });
  GenerateRequest request = {.prompt = {'b'}, .max_tokens = 3, .temperature = 0};
  request.sampling.presence_penalty = 2;
  request.sampling.frequency_penalty = 2;
  const auto answer = [&] {
    return generate(decoder, byte_tokenizer(), {&request, 1}).front().samples.front().tokens;
  };
  EXPECT_EQ(answer(), (std::vector<int>{'b', 'b', 0}));  // 5, then 5 - 4, then 5 - 6
  request.sampling = {.repetition_penalty = 1e9, .logit_bias = {{1, .5}}};
  EXPECT_EQ(answer(), (std::vector<int>{1, 'b', 'b'}));  // of the prompt, too: 5e-9; then .5e-9
}

TEST(Generate, OptionsOutOfRangeAreRefused) {
  ScriptedModel decoder(kByteVocab, 100, [](const std::vector<int>&) { return 'b'; });
  GenerateRequest request = {.prompt = {'b'}, .max_tokens = 3};
  request.sampling.allowed = {kByteVocab};
  EXPECT_THROW(generate(decoder, byte_tokenizer(), {&request, 1}), CheckFailure);
  request.sampling = {.top_p = 0};
  EXPECT_THROW(generate(decoder, byte_tokenizer(), {&request, 1}), CheckFailure);
}

}  // namespace
}  // namespace nb
