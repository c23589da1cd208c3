// Groups, state and single steps; twenty steps against PyTorch are in
// tests/model/decoder/parity_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "model/collectives/communicator.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/device.hpp"
#include "model/optim/groups.hpp"
#include "model/optim/schedules.hpp"

namespace nb {
namespace {

const DecoderConfig kConfig = config_for_depth(2, 32, 8);

// Every gradient present and equal to `value`.
void set_gradients(Decoder& decoder, float value) {
  for (Parameter& p : decoder.parameters()) {
    p.grad = decoder.device().allocate(p.value.shape(), p.value.dtype(), p.name);
    std::fill(p.grad.host().begin(), p.grad.host().end(), value);
  }
}

TEST(Optimizers, EveryParameterIsInExactlyOneGroup) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Decoder decoder(kConfig, device);
  decoder.init(1);
  const auto optimizers = make_optimizers(decoder, {});
  EXPECT_TRUE(optimizers[0]->state().empty());
  set_gradients(decoder, 1.0F);
  std::vector<std::string> names;
  for (const auto& optimizer : optimizers) {
    optimizer->step({});
    for (const NamedState& state : optimizer->state()) names.push_back(state.name);
  }
  // Two moments for lm_head and wte, one buffer for each of 12 matrices.
  ASSERT_EQ(names.size(), 4U + 12U);
  EXPECT_EQ(names[0], "adamw.m.lm_head.weight");
  EXPECT_EQ(names[3], "adamw.v.transformer.wte.weight");
  EXPECT_EQ(names[4], "muon.buffer.transformer.h.0.attn.c_q.weight");
  EXPECT_EQ(optimizers[0]->state()[2].tensor->dtype(), DType::kBf16);  // nanochat's wte
  EXPECT_EQ(optimizers[0]->state()[0].tensor->dtype(), DType::kFp32);
}

TEST(Optimizers, VectorsAndValueEmbeddingsComeBehindTheOtherTables) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Decoder decoder(kConfig, device);
  decoder.init(1);
  Parameter &vector = decoder.parameters()[1], &table = decoder.parameters()[2];
  vector.role = ParameterRole::kVector;
  table.role = ParameterRole::kValueEmbedding;
  set_gradients(decoder, 1.0F);
  const float before = table.value.host()[0];
  const auto optimizers = make_optimizers(decoder, {.embedding_lr = 0.2});
  optimizers[0]->step({});
  const std::vector<NamedState> state = optimizers[0]->state();
  ASSERT_EQ(state.size(), 8U);
  EXPECT_EQ(state[2].name, "adamw.m.transformer.wte.weight");
  EXPECT_EQ(state[4].name, "adamw.m." + table.name);
  EXPECT_EQ(state[6].name, "adamw.m." + vector.name);
  const double rate = 0.2 / 2 * width_lr_scale(kConfig.n_embd);
  EXPECT_NEAR(before - table.value.host()[0], rate, 1e-5 * rate);
}

TEST(Optimizers, FrozenParametersAreLeftOut) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Decoder decoder(kConfig, device);
  decoder.init(1);
  set_gradients(decoder, 2.0F);
  for (Parameter& p : decoder.parameters()) p.is_trained = p.role == ParameterRole::kUnembedding;
  const auto optimizers = make_optimizers(decoder, {});
  ASSERT_EQ(optimizers.size(), 1U);
  optimizers[0]->step({});
  EXPECT_EQ(optimizers[0]->state().size(), 2U);
  const auto trained = static_cast<double>(decoder.parameters().back().value.count());
  EXPECT_NEAR(clip_gradients(decoder, 1.0), 2.0 * std::sqrt(trained), 1e-6 * trained);
  EXPECT_EQ(decoder.parameters().front().grad.host()[0], 2.0F);
  EXPECT_LT(decoder.parameters().back().grad.host()[0], 1.0F);
}

TEST(AdamW, FirstStepMovesEveryElementByItsRate) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Decoder decoder(kConfig, device);
  decoder.init(1);
  set_gradients(decoder, -0.25F);
  const auto optimizers = make_optimizers(decoder, {.unembedding_lr = 0.004});
  optimizers[0]->step({.step = 0, .lr_multiplier = 0.5});
  // m/√v = 0.2 g / √(0.05 g²), times √(1 − 0.95) / (1 − 0.8): one rate, against the gradient's
  // sign.
  const double rate = 0.5 * 0.004 * width_lr_scale(kConfig.n_embd);
  for (const float w : decoder.parameters().back().value.host()) EXPECT_NEAR(w, rate, 1e-6 * rate);
}

// The lowering launches nine kernels on the eager stack and one on the compiled one.
TEST(AdamW, TheEagerStackRoundsTheEmbeddingAfterEveryKernel) {
  std::vector<float> embedding[2], unembedding[2];
  for (const int i : {0, 1}) {
    Device device(*load_profile(i == 0 ? "ascend_910b3" : "h100_sxm"), ExecutionMode::kExecute);
    Decoder decoder(kConfig, device);
    decoder.init(1);
    const auto optimizers =
        make_optimizers(decoder, {.embedding_lr = 0.2, .unembedding_lr = 0.004});
    for (const std::int64_t step : {0, 1, 2}) {
      set_gradients(decoder, round_to(DType::kBf16, 0.003F / static_cast<float>(step + 1)));
      optimizers[0]->step({.step = step});
    }
    for (const float w : decoder.parameters().front().value.host()) embedding[i].push_back(w);
    for (const float w : decoder.parameters().back().value.host()) unembedding[i].push_back(w);
  }
  EXPECT_NE(embedding[0], embedding[1]);
  EXPECT_EQ(unembedding[0], unembedding[1]);  // fp32: nothing is rounded on either
}

TEST(Muon, UpdateHasSingularValuesNearOne) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Decoder decoder(kConfig, device);
  decoder.init(1);
  Parameter& p = decoder.parameters()[4];  // c_proj of attention: starts at zero
  ASSERT_EQ(p.name, "transformer.h.0.attn.c_proj.weight");
  set_gradients(decoder, 0.0F);
  for (Parameter& other : decoder.parameters()) {
    if (other.role != ParameterRole::kMatrix) continue;
    for (std::size_t i = 0; i < other.grad.host().size(); ++i) {
      other.grad.host()[i] = static_cast<float>((i * 7919) % 1013) - 506.0F;
    }
  }
  const auto optimizers = make_optimizers(decoder, {.matrix_lr = 0.5});
  optimizers[1]->step({.momentum = 0.95});
  // Newton–Schulz leaves singular values in [0.5, 1.5] (zeropower_via_newtonschulz5 says), whatever
  // the gradient's size: for every x, |xᵀ update|² is that of x within the squares of both.
  const auto n = static_cast<std::size_t>(kConfig.n_embd);
  for (std::size_t x = 0; x < n; ++x) {  // differences of neighbouring rows
    double squares = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const float row = p.value.host()[x * n + j], next = p.value.host()[(x + 1) % n * n + j];
      squares += std::pow(static_cast<double>(row) - static_cast<double>(next), 2) / (0.25 * 2);
    }
    EXPECT_GT(squares, 0.25) << x;
    EXPECT_LT(squares, 2.25) << x;
  }
}

TEST(ClipGradients, ScalesToTheBoundAndReturnsTheNormBefore) {
  Device device(*load_profile("h100_sxm"), ExecutionMode::kExecute);
  Decoder decoder(kConfig, device);
  set_gradients(decoder, 0.5F);
  double count = 0;
  for (const Parameter& p : decoder.parameters()) count += static_cast<double>(p.value.count());
  const double norm = 0.5 * std::sqrt(count);
  EXPECT_NEAR(clip_gradients(decoder, 1.0), norm, 1e-6 * norm);
  const double factor = 1.0 / (norm + 1e-6);
  EXPECT_FLOAT_EQ(decoder.parameters().back().grad.host()[7], static_cast<float>(0.5 * factor));
  EXPECT_NEAR(clip_gradients(decoder, 0), 1.0,
              1e-2);  // wte is bf16: rounding moves the norm a little
  const float before = decoder.parameters().back().grad.host()[7];
  clip_gradients(decoder, 5.0);
  EXPECT_EQ(decoder.parameters().back().grad.host()[7], before);
}

TEST(Optimizers, AStepWithoutGradientsIsOurMistake) {
  Device device(*load_profile("tiny"), ExecutionMode::kExecute);
  Decoder decoder(kConfig, device);
  decoder.init(1);
  const auto optimizers = make_optimizers(decoder, {});
  EXPECT_THROW(optimizers[0]->step({}), CheckFailure);
  EXPECT_THROW(optimizers[1]->step({}), CheckFailure);
}

TEST(ShardedOptimizers, HoldTheirShareOfTheState) {
  const auto state_bytes = [](int ranks) {
    Device device(*load_profile("h100_sxm"), ExecutionMode::kDry, {.ranks = ranks});
    Decoder decoder(kConfig, device);
    const auto communicator = symmetric_communicator(device, ranks);
    const auto optimizers = make_optimizers(decoder, {}, communicator.get());
    std::uint64_t bytes = 0;
    for (const auto& optimizer : optimizers) {
      optimizer->allocate_state();
      for (const NamedState& state : optimizer->state()) bytes += state.tensor->size_bytes();
    }
    return bytes;
  };
  // 8 square matrices in blocks of 4, two c_fc and two c_proj: rank 0 of 4 owns 2 + 1 + 1 of them.
  const std::uint64_t square = 128 * 128 * 4;
  const std::uint64_t head = 32 * 128 * (4 + 2) * 2;
  EXPECT_EQ(state_bytes(1), head + (8 + 2 * 4 + 2 * 4) * square);
  EXPECT_EQ(state_bytes(4), head / 4 + (2 + 4 + 4) * square);
}

}  // namespace
}  // namespace nb
