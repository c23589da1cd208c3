#include "model/engine/generator.hpp"

#include <gtest/gtest.h>

#include <map>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/engine/sampler.hpp"
#include "tests/model/engine/scripted_model.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

using test::byte_tokenizer;
using test::kByteVocab;
using test::ScriptedModel;
using test::SmallDecoder;

int special(std::string_view name) { return byte_tokenizer().special(name); }

std::vector<int> ids(std::initializer_list<std::string_view> parts) {
  std::vector<int> tokens;
  for (const std::string_view part : parts) {
    const int id = special(part);
    if (id >= 0)
      tokens.push_back(id);
    else
      for (const char c : part) tokens.push_back(static_cast<unsigned char>(c));
  }
  return tokens;
}

// The model says `words` one by one; forced tokens take a turn too, as in nanochat, where the
// sampled token of that turn is thrown away.
GeneratedSample recite(const std::vector<int>& words, GenerateRequest request = {}) {
  request.prompt = {special("<|bos|>"), 'h', 'i'};
  request.temperature = 0;
  const std::size_t prompt = request.prompt.size();
  ScriptedModel decoder(kByteVocab, 1000, [&](const std::vector<int>& sequence) {
    return words.at(std::min(sequence.size() - prompt, words.size() - 1));
  });
  auto results = generate(decoder, byte_tokenizer(), {&request, 1});
  return std::move(results.at(0).samples.at(0));
}

TEST(Generate, EndsBeforeTheTerminalToken) {
  for (const char* terminal : {"<|assistant_end|>", "<|bos|>"}) {
    const GeneratedSample sample = recite(ids({"ok", terminal, "never"}));
    EXPECT_EQ(sample.tokens, ids({"ok"})) << terminal;
    EXPECT_EQ(sample.mask, (std::vector<std::uint8_t>{1, 1}));
    EXPECT_EQ(sample.stop, StopReason::kStopToken);
  }
  EXPECT_TRUE(recite(ids({"<|assistant_end|>"})).tokens.empty());
}

// NaN logits were a choice of token 0.
TEST(Generate, LogitsThatAreNotFiniteEndTheSample) {
  for (const double temperature : {0.0, 1.0}) {
    SmallDecoder small("ascend_910b3");
    for (Parameter& p : small.decoder->parameters())
      if (p.name == "lm_head.weight") p.value.host()[7] = std::nanf("");
    DecoderLanguageModel model(*small.decoder, byte_tokenizer());
    GenerateRequest request;
    request.prompt = {special("<|bos|>"), 'h', 'i'};
    request.temperature = temperature;
    request.num_samples = 3;
    const std::vector<GenerateRequest> requests = {request, request};
    for (const GenerateResult& result : model.generate(requests)) {
      ASSERT_EQ(result.samples.size(), 3u);
      for (const GeneratedSample& sample : result.samples) {
        EXPECT_EQ(sample.stop, StopReason::kNotFiniteLogits);
        EXPECT_TRUE(sample.tokens.empty());
      }
    }
  }
}

TEST(Generate, OwnStopTokensReplaceTheUsualOnes) {
  const GeneratedSample sample =
      recite(ids({"a", "<|bos|>", "b!", "<|assistant_end|>"}), {.stop_tokens = {'!'}});
  EXPECT_EQ(sample.tokens, ids({"a", "<|bos|>", "b"}));
}

TEST(Generate, StopsAtMaxTokens) {
  const GeneratedSample sample = recite(ids({"abcdef"}), {.max_tokens = 4});
  EXPECT_EQ(sample.tokens, ids({"abcd"}));
  EXPECT_EQ(sample.stop, StopReason::kMaxTokens);
  EXPECT_TRUE(recite(ids({"abc"}), {.max_tokens = 0}).tokens.empty());
}

// nanochat's engine.py, worked out by hand: "12/60" is 0.2; forced tokens have mask 0 and take
// the turns of what the model would have said.
TEST(Generate, CalculatorAnswersBehindPythonEnd) {
  const std::vector<int> words =
      ids({"=", "<|python_start|>", "12/60", "<|python_end|>", "XXXXX", "!", "<|assistant_end|>"});
  const GeneratedSample sample = recite(words);
  EXPECT_EQ(sample.tokens, ids({"=", "<|python_start|>", "12/60", "<|python_end|>",
                                "<|output_start|>", "0.2", "<|output_end|>", "!"}));
  std::vector<std::uint8_t> mask(8, 1);
  mask.insert(mask.end(), 5, 0);
  mask.push_back(1);
  EXPECT_EQ(sample.mask, mask);
  EXPECT_EQ(sample.stop, StopReason::kStopToken);
}

TEST(Generate, ForcedTokensCountTowardsMaxTokens) {
  const std::vector<int> words = ids({"<|python_start|>", "12/60", "<|python_end|>", "X"});
  const GeneratedSample sample = recite(words, {.max_tokens = 9});
  EXPECT_EQ(sample.tokens,
            ids({"<|python_start|>", "12/60", "<|python_end|>", "<|output_start|>", "0"}));
  EXPECT_EQ(sample.stop, StopReason::kMaxTokens);
}

TEST(Generate, NothingIsForcedWithoutAResult) {
  for (const std::vector<int>& words :
       {ids({"<|python_start|>", "1/0", "<|python_end|>", "k", "<|bos|>"}),
        ids({"<|python_start|>", "<|python_end|>", "k", "<|bos|>"}),
        ids({"1+1", "<|python_end|>", "k", "<|bos|>"})}) {
    const GeneratedSample sample = recite(words);
    EXPECT_EQ(sample.tokens, std::vector<int>(words.begin(), words.end() - 1));
  }
}

TEST(Generate, ASecondStartForgetsTheFirstExpression) {
  const GeneratedSample sample = recite(ids(
      {"<|python_start|>", "7+", "<|python_start|>", "1+1", "<|python_end|>", "XXX", "<|bos|>"}));
  EXPECT_EQ(sample.tokens, ids({"<|python_start|>", "7+", "<|python_start|>", "1+1",
                                "<|python_end|>", "<|output_start|>", "2", "<|output_end|>"}));
}

TEST(Generate, ToolCanBeReplacedOrOff) {
  const std::vector<int> words =
      ids({"<|python_start|>", "ab", "<|python_end|>", "XXXX", "<|bos|>"});
  std::string seen;
  const GeneratedSample own = recite(words, {.tool = [&](std::string_view text) {
                                       seen = text;
                                       return std::optional<std::string>("ok");
                                     }});
  EXPECT_EQ(seen, "ab");
  EXPECT_EQ(own.tokens, ids({"<|python_start|>", "ab", "<|python_end|>", "<|output_start|>", "ok",
                             "<|output_end|>"}));
  const std::vector<int> sum = ids({"<|python_start|>", "1+1", "<|python_end|>", "<|bos|>"});
  EXPECT_EQ(recite(sum, {.tools = false}).tokens, std::vector<int>(sum.begin(), sum.end() - 1));
}

TEST(Generate, AnEmptyExpressionAsksNoTool) {
  int calls = 0;
  recite(ids({"<|python_start|>", "<|python_end|>", "k", "<|python_end|>", "<|bos|>"}),
         {.tool = [&](std::string_view) {
           ++calls;
           return std::optional<std::string>("ok");
         }});
  EXPECT_EQ(calls, 0);
}

TEST(Generate, StopsWhereTheContextEnds) {
  ScriptedModel decoder(kByteVocab, 10, [](const std::vector<int>&) { return 'a'; });
  const GenerateRequest request = {.prompt = {1, 2, 3, 4}, .temperature = 0};
  const auto results = generate(decoder, byte_tokenizer(), {&request, 1});
  // Position 9 is the last; what it says is position 10's token, which nobody can go on from.
  EXPECT_EQ(results[0].samples[0].tokens.size(), 7U);
  EXPECT_EQ(results[0].samples[0].stop, StopReason::kContext);
  const GenerateRequest full = {.prompt = std::vector<int>(10, 1), .temperature = 0};
  EXPECT_EQ(generate(decoder, byte_tokenizer(), {&full, 1})[0].samples[0].tokens.size(), 1U);
  const GenerateRequest over = {.prompt = std::vector<int>(11, 1)};
  EXPECT_THROW(generate(decoder, byte_tokenizer(), {&over, 1}), CheckFailure);
}

// Long enough that a sample's cache gains pieces; the decoder reads its tokens from them.
TEST(Generate, LongSamplesSeeAllTheirTokens) {
  ScriptedModel decoder(kByteVocab, 2000, [](const std::vector<int>& sequence) {
    int sum = 0;
    for (const int token : sequence) sum += token;
    return sum % 251;
  });
  const GenerateRequest request = {.prompt = {5, 9}, .max_tokens = 700, .temperature = 0};
  const auto results = generate(decoder, byte_tokenizer(), {&request, 1});
  std::vector<int> sequence = request.prompt;
  int sum = 14;
  for (const int token : results[0].samples[0].tokens) {
    ASSERT_EQ(token, sum % 251) << sequence.size();
    sequence.push_back(token);
    sum += token;
  }
  EXPECT_EQ(sequence.size(), 702U);
}

TEST(Generate, PromptIsComputedOnceForItsSamples) {
  ScriptedModel decoder(kByteVocab, 500, [](const std::vector<int>&) { return 'a'; });
  const GenerateRequest request = {
      .prompt = std::vector<int>(100, 7), .num_samples = 5, .max_tokens = 11};
  GenerateStats stats;
  const auto results = generate(decoder, byte_tokenizer(), {&request, 1}, {}, &stats);
  EXPECT_EQ(results[0].samples.size(), 5U);
  EXPECT_EQ(stats.tokens, 100 + 5 * 10);  // the last token of a sample is never fed
  EXPECT_EQ(stats.passes, 11);
  EXPECT_EQ(stats.most_running, 5);
  EXPECT_EQ(decoder.rows(), stats.tokens);
}

TEST(Generate, PlacesAreRefilled) {
  ScriptedModel decoder(kByteVocab, 500, [](const std::vector<int>& sequence) {
    // Each prompt says how long its answer is.
    return std::ssize(sequence) <= sequence[0] ? 'a' : special("<|bos|>");
  });
  std::vector<GenerateRequest> requests;
  for (int length = 1; length <= 12; ++length)
    requests.push_back({.prompt = {length}, .max_tokens = 100, .temperature = 0});
  GenerateStats stats;
  const auto results = generate(decoder, byte_tokenizer(), requests, {.max_samples = 3}, &stats);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(results[i].samples[0].tokens.size(), i + 1);
  EXPECT_LE(stats.most_running, 3);
}

TEST(Generate, EveryTokenIsHeardInOrder) {
  const std::vector<int> words =
      ids({"<|python_start|>", "1+1", "<|python_end|>", "XXX", "<|bos|>"});
  ScriptedModel decoder(kByteVocab, 100, [&](const std::vector<int>& sequence) {
    return words.at(sequence.size() - 1);
  });
  std::map<int, GeneratedSample> heard;
  const GenerateRequest request = {
      .prompt = {3}, .num_samples = 2, .temperature = 0, .on_token = [&](const NewToken& token) {
        heard[token.sample].tokens.push_back(token.token);
        heard[token.sample].mask.push_back(token.chosen ? 1 : 0);
        return AfterToken::kContinue;
      }};
  const auto results = generate(decoder, byte_tokenizer(), {&request, 1});
  for (int s = 0; s < 2; ++s) {
    EXPECT_EQ(heard[s].tokens, results[0].samples[static_cast<std::size_t>(s)].tokens);
    EXPECT_EQ(heard[s].mask, results[0].samples[static_cast<std::size_t>(s)].mask);
  }
}

// By recomputing everything for every token of every sample: no cache, no batch, no tool.
GeneratedSample by_recomputing(Decoder& decoder, const GenerateRequest& request, int number) {
  GeneratedSample sample;
  std::vector<int> tokens = request.prompt;
  const SampleRandom random(request.seed, number), first_random(request.seed, 0);
  while (std::ssize(sample.tokens) < request.max_tokens) {
    const std::int64_t last = std::ssize(tokens) - 1;
    const bool is_shared = sample.tokens.empty() && request.shares_first_token;
    int next = 0;
    decoder.forward_logits(tokens, 1, last + 1, {&last, 1}, [&](std::int64_t, ConstMatrix logits) {
      next = sample_token({logits.row(0), kByteVocab}, {request.temperature, request.top_k},
                          (is_shared ? first_random : random).uniform(std::ssize(sample.tokens)));
    });
    if (next == special("<|bos|>") || next == special("<|assistant_end|>")) {
      sample.stop = StopReason::kStopToken;
      break;
    }
    tokens.push_back(next);
    sample.tokens.push_back(next);
  }
  return sample;
}

std::vector<GenerateRequest> mixed_generations() {
  std::vector<GenerateRequest> requests;
  const Rng rng(9, "test/prompts");
  std::uint64_t draw = 0;
  for (int i = 0; i < 7; ++i) {
    GenerateRequest request;
    for (std::uint64_t k = 0, n = 1 + rng.below(draw++, 40); k < n; ++k)
      request.prompt.push_back(static_cast<int>(rng.below(draw++, 256)));
    request.num_samples = 1 + i % 3;
    request.max_tokens = 5 + 7 * (i % 4);
    request.temperature = i % 2 == 0 ? 0.8 : 0.0;
    if (i % 4 == 0) request.top_k = 10;
    request.seed = static_cast<std::uint64_t>(i);
    request.tools = false;
    request.shares_first_token = i == 4;
    requests.push_back(request);
  }
  return requests;
}

TEST(Generate, BatchesCachesAndThreadsChangeNoToken) {
  for (const char* profile : {"ascend_910b3", "h100_sxm"}) {
    SmallDecoder small(profile);
    const auto requests = mixed_generations();
    std::vector<std::vector<GeneratedSample>> expected;
    for (const GenerateRequest& request : requests) {
      expected.emplace_back();
      const UseScope scope(small.device, Use::kGenerate);
      for (int s = 0; s < request.num_samples; ++s)
        expected.back().push_back(by_recomputing(*small.decoder, request, s));
    }
    for (const auto& [rows, tokens, thread_count] :
         std::vector<std::tuple<std::int64_t, std::int64_t, int>>{
             {1, 2048, 1}, {3, 7, 2}, {64, 2048, 3}, {5, 1, 1}}) {
      set_threads(thread_count);
      DecoderLanguageModel model(*small.decoder, byte_tokenizer(),
                                 {.max_rows = rows, .max_tokens = tokens});
      const auto results = model.generate(requests);
      for (std::size_t i = 0; i < requests.size(); ++i) {
        for (std::size_t s = 0; s < expected[i].size(); ++s) {
          EXPECT_EQ(results[i].samples[s].tokens, expected[i][s].tokens)
              << profile << ", " << rows << " rows, request " << i << ", sample " << s;
          EXPECT_EQ(results[i].samples[s].stop, expected[i][s].stop);
        }
      }
    }
    set_threads(0);
  }
}

TEST(Generate, SharedFirstTokenIsSharedAndLaterOnesAreNot) {
  SmallDecoder small("tiny");
  DecoderLanguageModel model(*small.decoder, byte_tokenizer());
  GenerateRequest request = {
      .prompt = {1, 2, 3}, .num_samples = 16, .max_tokens = 4, .temperature = 3};
  const auto distinct = [&](std::size_t token) {
    std::map<int, int> seen;
    const auto results = model.generate({&request, 1});
    for (const GeneratedSample& sample : results[0].samples)
      if (sample.tokens.size() > token) ++seen[sample.tokens[token]];
    return seen.size();
  };
  EXPECT_GT(distinct(0), 1U);
  request.shares_first_token = true;
  EXPECT_EQ(distinct(0), 1U);
  EXPECT_GT(distinct(1), 1U);
}

TEST(Generate, DryDeviceTakesTheTimeOfAnExecutedOne) {
  // Greedy and equal logits: token 0 always, as on the dry device.
  SmallDecoder dry("ascend_910b3", ExecutionMode::kDry), wet("ascend_910b3");
  wet.decoder->init(1);
  const std::vector<GenerateRequest> requests = {
      {.prompt = {1, 2, 3}, .num_samples = 2, .max_tokens = 9, .temperature = 0},
      {.prompt = {4, 5}, .max_tokens = 3, .temperature = 0}};
  const std::int64_t dry_before = dry.device.time_ns(), wet_before = wet.device.time_ns();
  const auto dry_results = DecoderLanguageModel(*dry.decoder, byte_tokenizer()).generate(requests);
  const auto wet_results = DecoderLanguageModel(*wet.decoder, byte_tokenizer()).generate(requests);
  EXPECT_EQ(dry_results[0].samples[1].tokens, std::vector<int>(9, 0));
  EXPECT_EQ(wet_results[0].samples[1].tokens, std::vector<int>(9, 0));
  EXPECT_EQ(dry.device.time_ns() - dry_before, wet.device.time_ns() - wet_before);
  EXPECT_GT(dry.device.time_ns(), dry_before);
}

TEST(Generate, CachesAreFreedAtTheEnd) {
  SmallDecoder small("ascend_910b3");
  DecoderLanguageModel model(*small.decoder, byte_tokenizer());
  const std::uint64_t before = small.device.memory().allocated_bytes;
  model.generate(mixed_generations());
  EXPECT_EQ(small.device.memory().allocated_bytes, before);
}

}  // namespace
}  // namespace nb
