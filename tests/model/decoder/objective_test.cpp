// Training for an objective over the losses of tokens: with the weights of a mean it has the bits
// of loss_and_backward; a dry device counts the same; adapters and recomputation change nothing of
// it.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/ops/objectives.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

const DecoderConfig kConfig = {
    .sequence_len = 12, .vocab_size = 40, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .n_embd = 64};
constexpr std::int64_t kSequences = 4, kTokensEach = 12, kRows = kSequences * kTokensEach;

std::vector<float> gradients_of(Decoder& decoder) {
  std::vector<float> all;
  for (const Parameter* p : decoder.trained_parameters()) {
    const std::span<const float> grad = p->grad.host();
    all.insert(all.end(), grad.begin(), grad.end());
  }
  return all;
}

class Objective : public testing::TestWithParam<std::string> {};

TEST_P(Objective, OfAMeanHasTheBitsOfTheLoss) {
  for (const bool has_adapters : {false, true}) {
    for (const bool recomputes : {false, true}) {
      const auto run = [&](bool is_mean) {
        Device device(*load_profile(GetParam()), ExecutionMode::kExecute);
        Decoder decoder(kConfig, device);
        test::set_golden_weights(decoder);
        if (has_adapters)
          decoder.adapters().add({.rank = 2, .alpha = 4, .targets = {"attn.c_q"}}, 3);
        decoder.set_recompute(recomputes);
        for (const int first : {0, 5}) {
          const test::GoldenTokens tokens =
              test::golden_tokens(first, kSequences, kTokensEach, 40, 7);
          if (is_mean) {
            decoder.loss_and_backward(tokens.inputs, tokens.targets, kSequences, kTokensEach, 0.5);
            continue;
          }
          const auto valid = std::ranges::count_if(tokens.targets, [](int t) { return t >= 0; });
          const std::vector<float> weights(kRows,
                                           static_cast<float>(0.5 / static_cast<double>(valid)));
          decoder.objective_and_backward(
              tokens.inputs, tokens.targets, kSequences, kTokensEach,
              [&](const Tensor& losses) { return ops::weighted_sum(losses, weights); });
        }
        return gradients_of(decoder);
      };
      EXPECT_EQ(run(true), run(false));
    }
  }
}

TEST_P(Objective, IsCalledOnceWithTheLossesOfAllTokens) {
  Device device(*load_profile(GetParam()), ExecutionMode::kExecute);
  Decoder decoder(kConfig, device);
  test::set_golden_weights(decoder);
  const test::GoldenTokens tokens = test::golden_tokens(1, kSequences, kTokensEach, 40, 7);
  std::vector<float> seen;
  const float loss = decoder.objective_and_backward(
      tokens.inputs, tokens.targets, kSequences, kTokensEach, [&](const Tensor& losses) {
        EXPECT_TRUE(seen.empty());
        seen.assign(losses.host().begin(), losses.host().end());
        return ops::weighted_sum(losses, std::vector<float>(kRows, 1));
      });
  EXPECT_EQ(seen, decoder.token_losses(tokens.inputs, tokens.targets, kSequences, kTokensEach));
  double sum = 0;
  for (const float one : seen) sum += static_cast<double>(one);
  EXPECT_EQ(loss, static_cast<float>(sum));
}

// Every objective, twice.
void run_all(Decoder& decoder, bool is_dry) {
  const test::GoldenTokens all = test::golden_tokens(2, kSequences, kTokensEach, 40, 7);
  const test::GoldenTokens tokens = is_dry ? test::GoldenTokens() : all;
  const std::vector<float> numbers(is_dry ? 0 : kRows, 0.5F);
  const std::vector<int> sequences = ops::sequences_of(tokens.targets, kTokensEach);
  const std::vector<ops::PreferencePair> pairs = {{{0, 12}, {12, 24}, 0, 0},
                                                  {{24, 36}, {36, 48}, 0, 0}};
  const TokenObjective objectives[] = {
      [&](const Tensor& l) { return ops::weighted_sum(l, numbers); },
      [&](const Tensor& l) {
        return ops::policy_loss(l, {numbers, {}, numbers, sequences}, {});
      },
      [&](const Tensor& l) {
        return ops::policy_loss(l, {numbers, numbers, numbers, sequences}, {.kl_weight = 0.1});
      },
      [&](const Tensor& l) {
        return ops::policy_loss(l, {numbers, {}, numbers, sequences},
                                {.form = PolicyForm::kSequenceRatio});
      },
      [&](const Tensor& l) {
        return ops::policy_loss(l, {numbers, {}, numbers, sequences},
                                {.form = PolicyForm::kSoftGate});
      },
      [&](const Tensor& l) {
        return ops::policy_loss(l, {numbers, numbers, numbers, sequences},
                                {.kl_weight = 0.1, .form = PolicyForm::kCappedConstant});
      },
      [&](const Tensor& l) { return ops::preference_loss(l, pairs, {}); },
      [&](const Tensor& l) { return ops::preference_loss(l, pairs, {.label_smoothing = 0.1}); },
  };
  for (int time = 0; time < 2; ++time)
    for (const TokenObjective& objective : objectives) {
      const float loss = decoder.objective_and_backward(tokens.inputs, tokens.targets, kSequences,
                                                        kTokensEach, objective);
      EXPECT_EQ(loss == 0, is_dry);
    }
}

TEST_P(Objective, OnADryDeviceHasTheSameTimeAndMemory) {
  Device real(*load_profile(GetParam()), ExecutionMode::kExecute);
  Device dry(*load_profile(GetParam()), ExecutionMode::kDry);
  for (Device* device : {&real, &dry}) {
    Decoder decoder(kConfig, *device);
    test::set_golden_weights(decoder);
    run_all(decoder, device == &dry);
    device->synchronize();
    decoder.zero_grad();
  }
  EXPECT_EQ(real.time_ns(), dry.time_ns());
  EXPECT_TRUE(real.counters() == dry.counters());
  EXPECT_TRUE(real.memory() == dry.memory());
}

INSTANTIATE_TEST_SUITE_P(Profiles, Objective,
                         testing::Values("tiny", "ascend_910b3", "h100_sxm", "cpu_ref"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace nb
