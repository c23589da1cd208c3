#include <gtest/gtest.h>

#include "model/decoder/lora.hpp"
#include "model/decoder/presets.hpp"

namespace nb {
namespace {

// Sizes that nanochat prints.
TEST(DecoderConfig, CountsOfD20AndD32AreThePublishedOnes) {
  const DecoderConfig d20 = config_for_depth(20, 65536, 2048);
  EXPECT_EQ(d20.n_embd, 1280);
  EXPECT_EQ(d20.n_head, 10);
  EXPECT_EQ(d20.head_dim(), 128);
  EXPECT_EQ(d20.max_positions(), 20480);
  EXPECT_EQ(matrix_param_count(d20), 393'216'000);
  EXPECT_EQ(param_count(d20), 560'988'160);
  EXPECT_EQ(flops_per_token(d20), 3'491'758'080);
  const DecoderConfig d32 = config_for_depth(32, 65536, 2048);
  EXPECT_EQ(param_count(d32), 1'879'048'192);
  EXPECT_EQ(flops_per_token(d32), 12'079'595'520);
}

TEST(DecoderConfig, DepthOneHasOneNarrowHead) {
  const DecoderConfig d1 = config_for_depth(1, 256, 16);
  EXPECT_EQ(d1.n_head, 1);
  EXPECT_EQ(d1.head_dim(), 64);
  EXPECT_TRUE(check_config(d1, "here"));
}

TEST(DecoderConfig, DepthWhoseHeadsDoNotDivideIsRefused) {
  const auto checked = check_config(config_for_depth(5, 256, 16), "suite a");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(checked.error().message,
            "suite a: width 320 is not divisible by 3 heads; choose an even depth (heads of 128)");
}

TEST(DecoderConfig, RefusesUnevenHeads) {
  DecoderConfig config = config_for_depth(4, 256, 16);
  config.n_kv_head = 4;
  EXPECT_FALSE(check_config(config, "x"));
  config = config_for_depth(4, 256, 16);
  config.n_embd = 2 * 33;
  EXPECT_FALSE(check_config(config, "x"));  // heads of 33
  config = config_for_depth(4, 256, 16);
  config.sequence_len = 0;
  EXPECT_FALSE(check_config(config, "x"));
}

// By hand: 20 blocks of 12 × 1280² weights and a head of 65,536 × 1280, twice forward and twice for
// the gradient of their inputs, none for their own; of rank 8, 4 × 8 × 2560 + 2 × 8 × 6400 weights
// a block, six times each; attention 12 × 20 × 1280 × 2048.
TEST(DecoderConfig, AStepOfAdaptersHasNoGradientOfFrozenWeights) {
  const DecoderConfig d20 = config_for_depth(20, 65536, 2048);
  const std::int64_t frozen = 20 * 12 * 1280 * 1280 + 65536 * 1280;
  const std::int64_t adapters = 20 * (4 * 8 * 2560 + 2 * 8 * 6400);
  const std::int64_t attention = std::int64_t{12} * 20 * 1280 * 2048;
  const LoraSettings lora = {.rank = 8, .alpha = 8, .targets = {"all"}};
  EXPECT_EQ(lora_flops_per_token(d20, lora), 4 * frozen + 6 * adapters + attention);
  EXPECT_EQ(lora_flops_per_token(d20, lora), 2'559'672'320);
  EXPECT_EQ(flops_per_token(d20), 6 * frozen + attention);
  // Queries alone: 8 × 2560 weights a block.
  EXPECT_EQ(lora_flops_per_token(d20, {.rank = 8, .alpha = 8, .targets = {"attn.c_q"}}),
            4 * frozen + 6 * 20 * 8 * 2560 + attention);
}

}  // namespace
}  // namespace nb
