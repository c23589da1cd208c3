#include "model/decoder/decoder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/device/device.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

const DecoderConfig kSmall = {
    .sequence_len = 12, .vocab_size = 40, .n_layer = 2, .n_head = 2, .n_kv_head = 2, .n_embd = 32};

DeviceProfile profile_of(const std::string& name) { return *load_profile(name); }

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

class GptOnDevice : public testing::TestWithParam<std::string> {};

TEST_P(GptOnDevice, FreshLossIsTheLogarithmOfTheVocabulary) {
  for (const std::int64_t vocab : {7, 256, 4096}) {
    DecoderConfig config = kSmall;
    config.vocab_size = vocab;
    Device device(profile_of(GetParam()), ExecutionMode::kExecute);
    Decoder decoder(config, device);
    decoder.init(42);
    const test::GoldenTokens tokens = test::golden_tokens(0, 3, 12, vocab, 0);
    const float loss = decoder.loss_and_backward(tokens.inputs, tokens.targets, 3, 12, 1.0);
    const auto expected = static_cast<float>(std::log(static_cast<double>(vocab)));
    EXPECT_LE(std::fabs(loss - expected),
              std::nextafter(expected, std::numeric_limits<float>::infinity()) - expected)
        << vocab;
  }
}

TEST_P(GptOnDevice, ALaterTokenChangesNoEarlierLogit) {
  Device device(profile_of(GetParam()), ExecutionMode::kExecute);
  Decoder decoder(kSmall, device);
  test::set_golden_weights(decoder);
  const auto logits_of = [&](std::vector<int> tokens) {
    std::vector<float> all;
    decoder.forward_logits(tokens, 1, 12, {}, [&](std::int64_t, ConstMatrix rows) {
      for (std::int64_t i = 0; i < rows.rows; ++i) {
        all.insert(all.end(), rows.row(i), rows.row(i) + rows.cols);
      }
    });
    return all;
  };
  std::vector<int> tokens = test::golden_tokens(0, 1, 12, 40, 0).inputs;
  const std::vector<float> before = logits_of(tokens);
  tokens[7] = (tokens[7] + 1) % 40;
  const std::vector<float> after = logits_of(tokens);
  const std::size_t changed = 7 * 40;
  EXPECT_TRUE(same_bits(std::span(before).first(changed), std::span(after).first(changed)));
  EXPECT_FALSE(same_bits(std::span(before).subspan(changed), std::span(after).subspan(changed)));
}

TEST_P(GptOnDevice, ARowHasTheSameBitsAloneAndInABatch) {
  Device device(profile_of(GetParam()), ExecutionMode::kExecute);
  Decoder decoder(kSmall, device);
  test::set_golden_weights(decoder);
  const test::GoldenTokens tokens = test::golden_tokens(0, 3, 12, 40, 0);
  const std::vector<float> together = decoder.token_losses(tokens.inputs, tokens.targets, 3, 12);
  for (std::size_t row = 0; row < 3; ++row) {
    const auto inputs = std::span(tokens.inputs).subspan(row * 12, 12);
    const auto targets = std::span(tokens.targets).subspan(row * 12, 12);
    const std::vector<float> alone = decoder.token_losses(inputs, targets, 1, 12);
    EXPECT_TRUE(same_bits(alone, std::span(together).subspan(row * 12, 12))) << row;
  }
}

TEST_P(GptOnDevice, GradientsHaveTheSameBitsForEveryThreadCount) {
  std::vector<std::vector<float>> gradients;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    Device device(profile_of(GetParam()), ExecutionMode::kExecute);
    Decoder decoder(kSmall, device);
    decoder.init(3);
    test::set_golden_weights(decoder);
    const test::GoldenTokens tokens = test::golden_tokens(0, 3, 12, 40, 7);
    decoder.loss_and_backward(tokens.inputs, tokens.targets, 3, 12, 0.5);
    std::vector<float>& all = gradients.emplace_back();
    for (const Parameter& p : decoder.parameters()) {
      all.insert(all.end(), p.grad.host().begin(), p.grad.host().end());
    }
  }
  set_threads(0);
  EXPECT_TRUE(same_bits(gradients[0], gradients[1]));
  EXPECT_TRUE(same_bits(gradients[0], gradients[2]));
}

TEST_P(GptOnDevice, ScoresAreTheLossesAndLogits) {
  Device device(profile_of(GetParam()), ExecutionMode::kExecute);
  Decoder decoder(kSmall, device);
  test::set_golden_weights(decoder);
  const test::GoldenTokens tokens = test::golden_tokens(0, 2, 12, 40, 3);
  std::vector<float> log_probs(24, 99);
  std::vector<int> argmax(24, 99);
  decoder.score_tokens(tokens.inputs, tokens.targets, 2, 12, log_probs, argmax);
  const std::vector<std::int64_t> wanted = {1, 5, 22};
  decoder.forward_logits(tokens.inputs, 2, 12, wanted, [&](std::int64_t first, ConstMatrix rows) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      const auto at = static_cast<std::size_t>(wanted[static_cast<std::size_t>(first + i)]);
      const float* z = rows.row(i);
      double sum = 0;
      int best = 0;
      for (int v = 0; v < 40; ++v) {
        sum += std::exp(static_cast<double>(z[v]));
        if (z[v] > z[best]) best = v;
      }
      ASSERT_GE(tokens.targets[at], 0);
      EXPECT_EQ(argmax[at], best);
      EXPECT_NEAR(log_probs[at], static_cast<double>(z[tokens.targets[at]]) - std::log(sum), 1e-5);
    }
  });
  for (std::size_t i = 0; i < 24; i += 3) {
    EXPECT_EQ(log_probs[i], 0) << i;
    EXPECT_EQ(argmax[i], -1) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, GptOnDevice, testing::Values("tiny", "ascend_910b3", "h100_sxm"),
                         [](const auto& instance) { return instance.param; });

TEST(GptInit, FollowsThePublishedRule) {
  Device device(profile_of("ascend_910b3"), ExecutionMode::kExecute);
  DecoderConfig config = kSmall;
  config.n_embd = 128;
  config.vocab_size = 300;
  Decoder decoder(config, device);
  decoder.init(1);
  for (const Parameter& p : decoder.parameters()) {
    double sum = 0;
    double squares = 0;
    for (const float w : p.value.host()) {
      sum += w;
      squares += static_cast<double>(w) * static_cast<double>(w);
    }
    const auto count = static_cast<double>(p.value.count());
    const double deviation = std::sqrt(squares / count);
    if (p.name == "lm_head.weight" || p.name.ends_with("c_proj.weight")) {
      EXPECT_EQ(squares, 0) << p.name;
    } else {
      // c_fc: fan_out > fan_in, so min(1, √(out/in)) = 1.
      const double expected = p.role == ParameterRole::kEmbedding ? 1.0 : 1.0 / std::sqrt(128.0);
      EXPECT_NEAR(deviation, expected, expected * 4 / std::sqrt(2 * count)) << p.name;
      EXPECT_NEAR(sum / count, 0, expected * 4 / std::sqrt(count)) << p.name;
    }
  }
  EXPECT_EQ(decoder.parameters().front().value.dtype(), DType::kBf16);
  EXPECT_EQ(decoder.parameters().back().value.dtype(), DType::kFp32);
}

TEST(GptInit, IsAFunctionOfTheSeed) {
  const auto first_weights = [](std::uint64_t seed) {
    Device device(profile_of("tiny"), ExecutionMode::kExecute);
    Decoder decoder(kSmall, device);
    decoder.init(seed);
    const auto values = decoder.parameters()[1].value.host();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_TRUE(same_bits(first_weights(5), first_weights(5)));
  EXPECT_FALSE(same_bits(first_weights(5), first_weights(6)));
}

TEST(Decoder, WrongBatchIsOurMistake) {
  Device device(profile_of("tiny"), ExecutionMode::kExecute);
  Decoder decoder(kSmall, device);
  decoder.init(1);
  const std::vector<int> ids(12, 1);
  EXPECT_THROW(decoder.token_losses(ids, ids, 2, 12), CheckFailure);
  EXPECT_THROW(decoder.token_losses(ids, ids, 12, 0), CheckFailure);
  const std::vector<int> outside(12, 40);
  EXPECT_THROW(decoder.token_losses(outside, ids, 1, 12), CheckFailure);
}

// A capture's ops are compared with PyTorch's by these names (harness/capture), step by step.
TEST(GptListener, HearsEachStepOfABlockOnceInItsOrder) {
  Device device(profile_of("cpu_ref"), ExecutionMode::kExecute);
  Decoder decoder(kSmall, device);
  decoder.init(1);
  const test::GoldenTokens tokens = test::golden_tokens(0, 1, 12, 40, 0);
  std::vector<std::string> heard;
  decoder.forward_logits(
      tokens.inputs, 1, 12, {}, [](std::int64_t, ConstMatrix) {},
      [&](const std::string& op, const Tensor&) { heard.push_back(op); });
  std::vector<std::string> expected = {"transformer.wte", "norm"};
  for (const char* layer : {"transformer.h.0", "transformer.h.1"}) {
    for (const char* step : {".attn.norm", ".attn.c_q", ".attn.c_k", ".attn.c_v", ".attn.q_rotary",
                             ".attn.k_rotary", ".attn.q_norm", ".attn.k_norm", ".attn.c_proj",
                             ".mlp.norm", ".mlp.c_fc", ".mlp.c_proj", ""})
      expected.push_back(std::string(layer) + step);
  }
  expected.emplace_back("norm1");
  EXPECT_EQ(heard, expected);
}

}  // namespace
}  // namespace nb
