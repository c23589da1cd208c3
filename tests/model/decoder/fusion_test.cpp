// What the host computes together has the bits of the ops one after the other: whole models, with
// every pattern, without each of them, and op by op.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "model/decoder/decoder.hpp"
#include "model/decoder/incremental.hpp"
#include "model/device/device.hpp"
#include "model/host/plan.hpp"
#include "model/host/program.hpp"
#include "model/ops/objectives.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

const DecoderConfig kGrouped = {
    .sequence_len = 12, .vocab_size = 40, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .n_embd = 64};

// A profile, or an Ascend under the stack of that name.
DeviceProfile device_of(const std::string& profile) {
  if (!profile.starts_with("nanochat")) return *load_profile(profile);
  return *load_profile("ascend_910b3", profile);
}

// Loss, losses of every token, and all gradients of two micro-batches.
std::vector<float> outcome(const std::string& profile) {
  Device device(device_of(profile), ExecutionMode::kExecute);
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

// Logits over caches: a prefix, behind it chunks of many and of few rows that share it, with caches
// of their own and without, and a stranger; then one more token of those with caches.
std::vector<float> cached_outcome(const std::string& profile) {
  Device device(device_of(profile), ExecutionMode::kExecute);
  Decoder decoder(kGrouped, device);
  test::set_golden_weights(decoder);
  IncrementalDecoder incremental(decoder);
  const std::vector<int> tokens = test::golden_tokens(3, 1, 12, 40, 7).inputs;
  const auto some = [&](std::size_t first, std::size_t count) {
    return std::span(tokens).subspan(first, count);
  };
  std::vector<float> all;
  const auto keep = [&](std::int64_t, ConstMatrix logits) {
    for (std::int64_t i = 0; i < logits.rows; ++i)
      all.insert(all.end(), logits.row(i), logits.row(i) + logits.cols);
  };
  const std::shared_ptr<KeyValueCache> prefix = incremental.new_cache(0, 4);
  const auto many = incremental.new_cache(4, 8), one = incremental.new_cache(4, 8);
  const Chunk first = {.tokens = some(0, 4), .own = prefix.get()};
  incremental.forward({&first, 1}, {}, {});
  const std::vector<Chunk> chunks = {
      {.tokens = some(2, 6), .first_position = 4, .prefix = {prefix}, .own = many.get()},
      {.tokens = some(1, 1), .first_position = 4, .prefix = {prefix}, .own = one.get()},
      {.tokens = some(5, 5), .first_position = 4, .prefix = {prefix}},
      {.tokens = some(4, 7)}};
  const std::vector<std::int64_t> wanted = {0, 4, 5, 6, 9, 18};
  incremental.forward_for_scores(chunks, wanted, keep);
  const std::vector<Chunk> next = {
      {.tokens = some(9, 1), .first_position = 10, .prefix = {prefix}, .own = many.get()},
      {.tokens = some(3, 1), .first_position = 5, .prefix = {prefix}, .own = one.get()}};
  incremental.forward(next, std::vector<std::int64_t>{0, 1}, keep);
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

void expect_same_bits_every_way(const std::function<std::vector<float>()>& outcome) {
  const std::vector<float> fused = outcome();
  EXPECT_TRUE(same_bits(fused, outcome())) << "the same twice";
  for (const host::Pattern& pattern : host::patterns()) {
    host::set_pattern_off(pattern.name);
    EXPECT_TRUE(same_bits(fused, outcome())) << "without " << pattern.name;
  }
  host::set_pattern_off(nullptr);
  host::set_fusion(false);
  EXPECT_TRUE(same_bits(fused, outcome())) << "op by op";
}

TEST_P(Fusion, ChangesNoBit) {
  expect_same_bits_every_way([] { return outcome(GetParam()); });
}

TEST_P(Fusion, ChangesNoBitOfAttentionOverCaches) {
  EXPECT_EQ(cached_outcome(GetParam()).size(), 8 * 40U);
  expect_same_bits_every_way([] { return cached_outcome(GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(Profiles, Fusion,
                         testing::Values("tiny", "ascend_910b3", "h100_sxm", "cpu_ref",
                                         "nanochat_npu_no_autocast"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace nb
