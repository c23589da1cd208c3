#include "model/engine/decoder_language_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/rng.hpp"
#include "model/decoder/decoder.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "tests/model/engine/small_decoder.hpp"

namespace nb {
namespace {

using test::byte_tokenizer;
using test::kByteVocab;
using test::SmallDecoder;

// 23 requests of 2 to 60 tokens (beyond the training length), spans of all kinds, one empty.
std::vector<ScoreRequest> mixed_requests() {
  const Rng rng(3, "test/requests");
  std::vector<ScoreRequest> requests;
  std::uint64_t draw = 0;
  for (std::size_t i = 0; i < 23; ++i) {
    const std::size_t length = 2 + rng.below(draw++, 59);
    ScoreRequest request;
    request.tokens.push_back(byte_tokenizer().bos());
    while (request.tokens.size() < length)
      request.tokens.push_back(static_cast<int>(rng.below(draw++, 256)));
    request.start = 1 + rng.below(draw++, length - 1);
    request.end = request.start + rng.below(draw++, length - request.start + 1);
    requests.push_back(std::move(request));
  }
  requests[5].start = requests[5].end;
  requests[6] = {requests[7].tokens, 1, requests[7].tokens.size()};
  return requests;
}

void expect_same_bits(const std::vector<ScoreResult>& a, const std::vector<ScoreResult>& b,
                      const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].argmax, b[i].argmax) << what << ", request " << i;
    ASSERT_EQ(a[i].log_probs.size(), b[i].log_probs.size());
    for (std::size_t k = 0; k < a[i].log_probs.size(); ++k)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(a[i].log_probs[k]),
                std::bit_cast<std::uint32_t>(b[i].log_probs[k]))
          << what << ", request " << i << " token " << k << ": " << a[i].log_probs[k] << " "
          << b[i].log_probs[k];
  }
}

// Each request in a batch of its own, recomputed from its first token: what all else must equal.
std::vector<ScoreResult> scored_alone(SmallDecoder& small, std::span<const ScoreRequest> requests) {
  DecoderLanguageModel model(*small.decoder, byte_tokenizer(),
                             {.max_rows = 1, .share_prefixes = false});
  std::vector<ScoreResult> results;
  for (const ScoreRequest& request : requests)
    results.push_back(model.score(std::span(&request, 1)).front());
  return results;
}

// Three "items" of four choices behind long prefixes, a shorter one of which begins the next; equal
// requests; choices of no, one and many tokens; a request that is another one's prefix.
std::vector<ScoreRequest> requests_of_items() {
  const Rng rng(5, "test/items");
  std::uint64_t draw = 0;
  const auto extended = [&](std::vector<int> tokens, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      tokens.push_back(static_cast<int>(rng.below(draw++, 256)));
    return tokens;
  };
  std::vector<ScoreRequest> requests;
  std::vector<int> prompt = {byte_tokenizer().bos()};
  for (std::size_t item = 0; item < 3; ++item) {
    prompt = extended(prompt, 30 + item);
    for (std::size_t choice = 0; choice < 4; ++choice) {
      const std::vector<int> tokens = extended(prompt, 1 + 3 * choice);
      requests.push_back({tokens, prompt.size(), tokens.size()});
    }
    requests.push_back({prompt, prompt.size(), prompt.size()});
    requests.push_back({prompt, 1, prompt.size()});
    requests.push_back(requests[requests.size() - 3]);
    for (int letter = 0; letter < 4; ++letter) {
      std::vector<int> tokens = prompt;
      tokens.push_back('A' + letter);
      requests.push_back({tokens, prompt.size(), tokens.size()});
    }
  }
  return requests;
}

std::uint64_t kernels_of(SmallDecoder& small, const std::function<void(LanguageModel&)>& work) {
  DecoderLanguageModel model(*small.decoder, byte_tokenizer());
  const std::uint64_t before = small.device.counters().kernels;
  work(model);
  EXPECT_EQ(small.device.use(), Use::kTrain);
  return small.device.counters().kernels - before;
}

// As nanochat, which evaluates and chats with the uncompiled model: the GPU rounds what the NPU
// does, and launches it but for torch_npu's copies of strided operands and its mask.
TEST(DecoderLanguageModel, ScoresAndGeneratesWithTheStackOfItsUse) {
  SmallDecoder gpu("h100_sxm"), npu("ascend_910b3");
  const auto requests = mixed_requests();
  std::vector<ScoreResult> scores[2];
  std::vector<GenerateResult> texts[2];
  GenerateRequest wish;
  wish.prompt = {byte_tokenizer().bos(), 65, 66};
  wish.max_tokens = 8;
  wish.temperature = 0;
  std::uint64_t kernels[2][2];
  for (int i = 0; i < 2; ++i) {
    SmallDecoder& small = i == 0 ? gpu : npu;
    EXPECT_EQ(small.device.profile().software.copies_views.value, i == 1);
    kernels[i][0] = kernels_of(small, [&](LanguageModel& m) { scores[i] = m.score(requests); });
    kernels[i][1] = kernels_of(small, [&](LanguageModel& m) { texts[i] = m.generate({&wish, 1}); });
  }
  expect_same_bits(scores[0], scores[1], "GPU and NPU");
  EXPECT_EQ(texts[0][0].samples[0].tokens, texts[1][0].samples[0].tokens);
  DeviceProfile same = *load_profile("ascend_910b3");
  same.software.copies_views.value = false;
  same.software.attention_mask_side.value = 0;
  SmallDecoder bare(same);
  EXPECT_EQ(kernels_of(bare, [&](LanguageModel& m) { m.score(requests); }), kernels[0][0]);
  EXPECT_EQ(kernels_of(bare, [&](LanguageModel& m) { m.generate({&wish, 1}); }), kernels[0][1]);
  EXPECT_GT(kernels[1][0], kernels[0][0]);
  EXPECT_GT(kernels[1][1], kernels[0][1]);
}

class GptScores : public testing::TestWithParam<const char*> {};

TEST_P(GptScores, HaveTheSameBitsInAnyBatch) {
  SmallDecoder small(GetParam());
  for (const auto& requests : {mixed_requests(), requests_of_items()}) {
    const std::vector<ScoreResult> alone = scored_alone(small, requests);
    for (const bool share : {false, true}) {
      for (const ScoreBatching batching :
           {ScoreBatching{1, 8192, share}, ScoreBatching{2, 8192, share},
            ScoreBatching{3, 100, share}, ScoreBatching{16, 8192, share},
            ScoreBatching{64, 1, share}, ScoreBatching{64, 37, share}}) {
        DecoderLanguageModel model(*small.decoder, byte_tokenizer(), batching);
        expect_same_bits(model.score(requests), alone,
                         "batches of " + std::to_string(batching.max_rows) + ", " +
                             std::to_string(batching.max_tokens) + " tokens");
      }
    }
  }
}

TEST_P(GptScores, HaveTheSameBitsInAnyOrderShardAndThreads) {
  SmallDecoder small(GetParam());
  const auto requests = requests_of_items();
  const std::vector<ScoreResult> alone = scored_alone(small, requests);
  DecoderLanguageModel model(*small.decoder, byte_tokenizer(), {.max_rows = 8, .max_tokens = 64});
  for (const std::size_t shards : {1u, 3u, 5u}) {
    for (const int thread_count : {1, 3}) {
      set_threads(thread_count);
      std::vector<ScoreResult> results(requests.size());
      for (std::size_t shard = 0; shard < shards; ++shard) {
        std::vector<ScoreRequest> part;
        std::vector<std::size_t> origin;
        for (std::size_t i = shard; i < requests.size(); i += shards) origin.push_back(i);
        std::reverse(origin.begin(), origin.end());
        for (const std::size_t i : origin) part.push_back(requests[i]);
        auto scores = model.score(part);
        for (std::size_t i = 0; i < origin.size(); ++i) results[origin[i]] = std::move(scores[i]);
      }
      expect_same_bits(results, alone, std::to_string(shards) + " shards");
    }
  }
  set_threads(0);
}

// From the logits themselves: log-softmax in double, first largest.
TEST_P(GptScores, AreTheLogSoftmaxOfTheLogits) {
  SmallDecoder small(GetParam());
  DecoderLanguageModel model(*small.decoder, byte_tokenizer());
  const auto requests = mixed_requests();
  const auto scores = model.score(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ScoreRequest& request = requests[i];
    std::vector<std::vector<float>> logits;
    const UseScope scope(small.device, Use::kScore);
    small.decoder->forward_logits(request.tokens, 1, std::ssize(request.tokens), {},
                                  [&](std::int64_t first, ConstMatrix block) {
                                    ASSERT_EQ(first, std::ssize(logits));
                                    for (std::int64_t r = 0; r < block.rows; ++r)
                                      logits.emplace_back(
                                          block.data + r * block.stride,
                                          block.data + r * block.stride + block.cols);
                                  });
    ASSERT_EQ(logits.size(), request.tokens.size());
    ASSERT_EQ(scores[i].log_probs.size(), request.end - request.start);
    for (std::size_t p = request.start; p < request.end; ++p) {
      const std::vector<float>& row = logits[p - 1];
      const auto best = std::max_element(row.begin(), row.end());
      double sum = 0;
      for (const float logit : row) sum += std::exp(static_cast<double>(logit) - *best);
      const double want = static_cast<double>(row[static_cast<std::size_t>(request.tokens[p])]) -
                          *best - std::log(sum);
      // fp32: a few roundings of a value below 40.
      EXPECT_NEAR(scores[i].log_probs[p - request.start], want, 1e-5)
          << "request " << i << " token " << p;
      EXPECT_EQ(scores[i].argmax[p - request.start], best - row.begin())
          << "request " << i << " token " << p;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, GptScores, testing::Values("ascend_910b3", "h100_sxm", "tiny"),
                         [](const auto& which) { return std::string(which.param); });

TEST(DecoderLanguageModel, EqualLogitsTieToTheLowestId) {
  SmallDecoder small("tiny");
  small.decoder->init(1);  // zero lm_head
  DecoderLanguageModel model(*small.decoder, byte_tokenizer());
  const std::vector<ScoreRequest> requests = {{{byte_tokenizer().bos(), 9, 8}, 1, 3}};
  const auto scores = model.score(requests);
  EXPECT_EQ(scores[0].argmax, (std::vector<int>{0, 0}));
  EXPECT_NEAR(scores[0].log_probs[0], -std::log(static_cast<double>(kByteVocab)), 1e-6);
}

TEST(DecoderLanguageModel, ContextIsThatOfTheRotaryTables) {
  SmallDecoder small("tiny");
  DecoderLanguageModel model(*small.decoder, byte_tokenizer());
  EXPECT_EQ(model.context_length(), 160);
  std::vector<ScoreRequest> requests = {{std::vector<int>(160, 5), 159, 160}};
  EXPECT_EQ(model.score(requests)[0].log_probs.size(), 1u);
  requests[0].tokens.push_back(5);
  EXPECT_THROW(model.score(requests), CheckFailure);
}

TEST(DecoderLanguageModel, DryDeviceGivesZerosAndTheSameTime) {
  SmallDecoder dry("ascend_910b3", ExecutionMode::kDry), wet("ascend_910b3");
  const std::int64_t dry_before = dry.device.time_ns(), wet_before = wet.device.time_ns();
  const auto requests = mixed_requests();
  const auto scores = DecoderLanguageModel(*dry.decoder, byte_tokenizer()).score(requests);
  const auto executed = DecoderLanguageModel(*wet.decoder, byte_tokenizer()).score(requests);
  EXPECT_LT(executed[0].log_probs[0], 0.0f);
  for (std::size_t i = 0; i < requests.size(); ++i)
    for (std::size_t k = 0; k < scores[i].log_probs.size(); ++k) {
      EXPECT_EQ(scores[i].log_probs[k], 0.0f);
      EXPECT_EQ(scores[i].argmax[k], -1);
    }
  EXPECT_GT(dry.device.time_ns(), dry_before);
  EXPECT_EQ(dry.device.time_ns() - dry_before, wet.device.time_ns() - wet_before);
}

TEST(DecoderLanguageModel, TokenizerMustFitTheModel) {
  SmallDecoder small("tiny");
  Vocabulary large = byte_tokenizer().vocabulary();
  large.specials.clear();
  large.tokens.resize(256);
  large.tokens.emplace_back("ab");
  append_nanochat_specials(large);
  const Tokenizer tokenizer(std::move(large));
  EXPECT_THROW(DecoderLanguageModel(*small.decoder, tokenizer), CheckFailure);
}

}  // namespace
}  // namespace nb
