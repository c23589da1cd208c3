// What the host computes together has the bits of the ops one after the other: whole models, with
// every pattern, without each of them, and op by op.
#include <gtest/gtest.h>

#include <cstring>

#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/host/plan.hpp"
#include "model/host/program.hpp"
#include "model/ops/weighted_sum.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

const DecoderConfig kGrouped = {
    .sequence_len = 12, .vocab_size = 40, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .n_embd = 64};

// Loss, losses of every token, and all gradients of two micro-batches.
std::vector<float> outcome(const std::string& profile) {
  Device device(*load_profile(profile), ExecutionMode::kExecute);
  Decoder decoder(kGrouped, device);
  test::set_golden_weights(decoder);
  std::vector<float> all;
  for (const int first : {0, 5}) {
    const test::GoldenTokens tokens = test::golden_tokens(first, 3, 12, 40, 7);
    all.push_back(decoder.loss_and_backward(tokens.inputs, tokens.targets, 3, 12, 0.5));
    const std::vector<float> losses = decoder.token_losses(tokens.inputs, tokens.targets, 3, 12);
    all.insert(all.end(), losses.begin(), losses.end());
    const std::vector<float> weights(losses.size(), 0.01F);
    all.push_back(decoder.objective_and_backward(
        tokens.inputs, tokens.targets, 3, 12,
        [&](const Tensor& l) { return ops::weighted_sum(l, weights); }));
  }
  for (const Parameter& p : decoder.parameters())
    all.insert(all.end(), p.grad.host().begin(), p.grad.host().end());
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class Fusion : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    host::set_fusion(true);
    host::set_pattern_off(nullptr);
  }
};

TEST_P(Fusion, ChangesNoBit) {
  const std::vector<float> fused = outcome(GetParam());
  EXPECT_TRUE(same_bits(fused, outcome(GetParam()))) << "the same twice";
  for (const host::Pattern& pattern : host::patterns()) {
    host::set_pattern_off(pattern.name);
    EXPECT_TRUE(same_bits(fused, outcome(GetParam()))) << "without " << pattern.name;
  }
  host::set_pattern_off(nullptr);
  host::set_fusion(false);
  EXPECT_TRUE(same_bits(fused, outcome(GetParam()))) << "op by op";
}

INSTANTIATE_TEST_SUITE_P(Profiles, Fusion,
                         testing::Values("tiny", "ascend_910b3", "h100_sxm", "cpu_ref"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace nb
