// What a generation must not exceed.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/engine/generator.hpp"
#include "tests/model/engine/scripted_model.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

using test::byte_tokenizer;
using test::kByteVocab;
using test::ScriptedModel;

// The model's vocabulary is padded; what lies behind the tokenizer's is never said.
TEST(Generate, IdsThatTheTokenizerLacksAreNeverChosen) {
  ScriptedModel decoder(kByteVocab + 7, 100,
                        [](const std::vector<int>&) { return kByteVocab + 3; });
  for (const double temperature : {0.0, 1.0}) {
    const GenerateRequest request = {
        .prompt = {1}, .num_samples = 20, .max_tokens = 8, .temperature = temperature};
    const auto results = generate(decoder, byte_tokenizer(), {&request, 1});
    for (const GeneratedSample& sample : results[0].samples)
      for (const int token : sample.tokens) EXPECT_LT(token, kByteVocab);
  }
}

TEST(Generate, APassHoldsNoMoreSamplesAndRowsThanItMay) {
  for (const std::int64_t max_samples : {1, 2, 4}) {
    for (const std::int64_t max_tokens : {1, 3, 5, 8}) {
      ScriptedModel decoder(kByteVocab, 500, [](const std::vector<int>&) { return 'a'; });
      const std::vector<GenerateRequest> requests = {
          {.prompt = std::vector<int>(5, 7), .num_samples = 5, .max_tokens = 4},
          {.prompt = std::vector<int>(8, 8), .num_samples = 1, .max_tokens = 6},
          {.prompt = std::vector<int>(3, 9), .num_samples = 3, .max_tokens = 5}};
      GenerateStats stats;
      generate(decoder, byte_tokenizer(), requests,
               {.max_samples = max_samples, .max_tokens = max_tokens}, &stats);
      EXPECT_EQ(stats.most_running, max_samples);
      // Running samples are never cut apart; prompts take what room they leave.
      EXPECT_LE(decoder.most_rows(), std::max(max_samples, max_tokens));
    }
  }
}

}  // namespace
}  // namespace nb
