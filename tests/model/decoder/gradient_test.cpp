// Finite differences through the whole model, one random direction for each tensor, in fp32.
#include <gtest/gtest.h>

#include <cmath>

#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kTime = 6;

double mean_loss(Decoder& decoder, const test::GoldenTokens& tokens) {
  double sum = 0;
  double valid = 0;
  const std::vector<float> losses =
      decoder.token_losses(tokens.inputs, tokens.targets, kBatch, kTime);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    sum += losses[i];
    valid += tokens.targets[i] >= 0 ? 1 : 0;
  }
  return sum / valid;
}

// A model of one block is the block between an embedding and a head: wte's gradient is its input's.
void check_directions(const DecoderConfig& config) {
  Device device(test::fp32_profile(), ExecutionMode::kExecute);
  Decoder decoder(config, device);
  test::set_golden_weights(decoder);
  const test::GoldenTokens tokens = test::golden_tokens(5, kBatch, kTime, config.vocab_size, 5);
  decoder.loss_and_backward(tokens.inputs, tokens.targets, kBatch, kTime, 1.0);
  for (std::size_t p = 0; p < decoder.parameters().size(); ++p) {
    Parameter& parameter = decoder.parameters()[p];
    const std::span<const float> first = parameter.value.host();
    const std::vector<float> saved(first.begin(), first.end());
    const auto moved_loss = [&](float h) {
      const std::span<float> w = parameter.value.host();
      for (std::size_t i = 0; i < w.size(); ++i) {
        w[i] = saved[i] + h * test::golden_uniform(500 + p, i, 1.0F);
      }
      return mean_loss(decoder, tokens);
    };
    double slope = 0;
    double norm = 0;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      const double g = parameter.grad.host()[i];
      slope += g * static_cast<double>(test::golden_uniform(500 + p, i, 1.0F));
      norm += g * g / 3;  // a uniform direction has variance 1/3
    }
    // Two step lengths, extrapolated: the error left is of fourth order, beside fp32 noise of about
    // 1e-7 × loss / h.
    constexpr float kStep = 0x1p-8F;
    const double wide = (moved_loss(2 * kStep) - moved_loss(-2 * kStep)) / (4 * kStep);
    const double near = (moved_loss(kStep) - moved_loss(-kStep)) / (2 * kStep);
    std::copy(saved.begin(), saved.end(), parameter.value.host().begin());
    EXPECT_NEAR((4 * near - wide) / 3, slope, 2e-3 * std::sqrt(norm) + 2e-4) << parameter.name;
  }
}

TEST(GptGradient, OfOneBlockAgreesWithDifferences) {
  check_directions({.sequence_len = kTime,
                    .vocab_size = 24,
                    .n_layer = 1,
                    .n_head = 2,
                    .n_kv_head = 2,
                    .n_embd = 32});
}

TEST(GptGradient, OfGroupedHeadsAndTwoBlocksAgreesWithDifferences) {
  check_directions({.sequence_len = kTime,
                    .vocab_size = 17,
                    .n_layer = 2,
                    .n_head = 4,
                    .n_kv_head = 2,
                    .n_embd = 32});
}

}  // namespace
}  // namespace nb
