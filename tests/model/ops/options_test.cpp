// What attention, rotary and head can be told: windows, layouts, caps, padding. Gradients of a
// small model of them are those of differences; its bits are those of the ops one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/host/program.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/head.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/norms.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/rows.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

constexpr std::int64_t kBatch = 2, kTime = 6, kWidth = 16, kHead = 4, kTokens = 19, kPadded = 24;

struct Options {
  std::int64_t window = 0;
  ops::RotaryOptions rotary = {};
  ops::HeadOptions head = {};
  bool is_tied = false;
  bool norms = false;  // rotated heads
};

const Options kOptions[] = {
    {},
    {.window = 1},
    {.window = 2, .rotary = {.base = 500, .layout = ops::RotaryLayout::kPairs}, .norms = true},
    {.window = 4, .rotary = {.layout = ops::RotaryLayout::kHalves}, .norms = true},
    {.window = 6, .rotary = {.base = 2e5, .layout = ops::RotaryLayout::kPairs}},
    {.head = {.softcap = 0}},
    {.head = {.softcap = 5, .vocab = kTokens}},
    {.head = {.caps_in_fp32 = true, .vocab = kTokens}, .is_tied = true},
    {.head = {.softcap = 0, .caps_in_fp32 = true, .vocab = kTokens}, .is_tied = true},
    {.head = {.softcap = 0, .vocab = 20}},
};

std::string text(const Options& o) {
  return "window " + std::to_string(o.window) + ", layout " +
         std::to_string(static_cast<int>(o.rotary.layout)) + ", cap " +
         std::to_string(o.head.softcap) + (o.head.caps_in_fp32 ? " in fp32" : "") + ", tokens " +
         std::to_string(o.head.vocab) + (o.is_tied ? ", tied" : "");
}

// Four query heads over two key heads.
struct Model {
  Model(Device& device, const Options& of) : options(of) {
    const auto make = [&](const char* name, std::int64_t out, std::int64_t in) {
      Parameter p = {.name = name, .value = device.allocate({out, in}, DType::kFp32, name)};
      for (std::size_t i = 0; i < p.value.host().size(); ++i)
        p.value.host()[i] = test::golden_uniform(weights.size(), i, 0.7F);
      weights.push_back(std::move(p));
    };
    weights.reserve(6);  // the tape refers to parameters
    make("tokens", kPadded, kWidth);
    make("q", kWidth, kWidth);
    make("k", kWidth / 2, kWidth);
    make("v", kWidth / 2, kWidth);
    make("out", kWidth, kWidth);
    make("head", kPadded, kWidth);
    tables = ops::rotary_tables(device, kTime, kHead, options.rotary);
  }

  Tensor rotated(const Tensor& x, const char* label) {
    const Tensor y = ops::rotary(x, tables, {.time = kTime}, label);
    return options.norms ? ops::rms_norm(y, kHead, label) : y;
  }
  Tensor loss(const test::GoldenTokens& tokens) {
    const ops::HeadShape heads = {kBatch, kTime, 4, 2, kHead, options.window};
    const Tensor x = ops::embedding(weights[0], tokens.inputs, kBatch * kTime);
    const Tensor q = rotated(ops::linear(x, weights[1]), "q");
    const Tensor k = rotated(ops::linear(x, weights[2]), "k");
    const Tensor y = ops::attention(q, k, ops::linear(x, weights[3]), heads, "a");
    return ops::head_loss(ops::linear(y, weights[4]), weights[options.is_tied ? 0 : 5],
                          tokens.targets, 1.0, options.head);
  }
  void run_backward(const test::GoldenTokens& tokens) {
    Tape tape;
    Tensor of_all = loss(tokens);
    tape.backward(of_all);
    value = of_all.host()[0];
  }

  Options options;
  std::vector<Parameter> weights;
  ops::RotaryTables tables;
  float value = 0;
};

const test::GoldenTokens kSequences = test::golden_tokens(1, kBatch, kTime, kTokens, 5);

class OpOptions : public testing::Test {
 protected:
  void TearDown() override { host::set_fusion(true); }
};

TEST_F(OpOptions, GradientsAgreeWithDifferences) {
  for (const Options& options : kOptions) {
    SCOPED_TRACE(text(options));
    Device device(test::fp32_profile(), ExecutionMode::kExecute);
    Model model(device, options);
    model.run_backward(kSequences);
    for (std::size_t p = 0; p < model.weights.size(); ++p) {
      Parameter& w = model.weights[p];
      if (w.grad.empty()) continue;
      const std::vector<float> saved(w.value.host().begin(), w.value.host().end());
      double slope = 0, norm = 0;
      for (std::size_t i = 0; i < saved.size(); ++i) {
        const double g = w.grad.host()[i], direction = test::golden_uniform(90 + p, i, 1.0F);
        slope += g * direction;
        norm += g * g / 3;
      }
      ASSERT_GT(norm, 0) << w.name;
      const auto moved = [&](float h) {
        for (std::size_t i = 0; i < saved.size(); ++i)
          w.value.host()[i] = saved[i] + h * test::golden_uniform(90 + p, i, 1.0F);
        const Tensor loss = model.loss(kSequences);
        return static_cast<double>(loss.host()[0]);
      };
      constexpr float kStep = 0x1p-7F;
      const double wide = (moved(2 * kStep) - moved(-2 * kStep)) / (4 * kStep);
      const double near = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      std::ranges::copy(saved, w.value.host().begin());
      // A loss of 3 is known to 2^-22, over a step of 2^-6: 2e-5.
      EXPECT_NEAR((4 * near - wide) / 3, slope, 1e-3 * std::sqrt(norm) + 5e-5) << w.name;
    }
  }
}

TEST_F(OpOptions, BitsAreThoseOfTheOpsOneAfterTheOther) {
  for (const char* profile : {"ascend_910b3", "h100_sxm"}) {
    for (const Options& options : kOptions) {
      SCOPED_TRACE(std::string(profile) + ": " + text(options));
      Device device(*load_profile(profile), ExecutionMode::kExecute);
      Model together(device, options), alone(device, options);
      for (int twice = 0; twice < 2; ++twice) {  // the second time gradients are added
        host::set_fusion(true);
        together.run_backward(kSequences);
        host::set_fusion(false);
        alone.run_backward(kSequences);
        EXPECT_EQ(together.value, alone.value);
        for (std::size_t p = 0; p < together.weights.size(); ++p) {
          const Tensor &a = together.weights[p].grad, &b = alone.weights[p].grad;
          ASSERT_EQ(a.empty(), b.empty());
          if (a.empty()) continue;
          EXPECT_EQ(std::memcmp(a.host().data(), b.host().data(), a.host().size_bytes()), 0)
              << together.weights[p].name;
        }
      }
    }
  }
}

TEST_F(OpOptions, PaddingGetsNoGradient) {
  for (const bool fuses : {true, false}) {
    host::set_fusion(fuses);
    Device device(*load_profile("h100_sxm"), ExecutionMode::kExecute);
    Model model(device, {.head = {.vocab = kTokens}});
    for (int twice = 0; twice < 2; ++twice) {
      model.run_backward(kSequences);
      const auto gradient = std::as_const(model.weights[5].grad).host();
      for (std::size_t i = kTokens * kWidth; i < gradient.size(); ++i) ASSERT_EQ(gradient[i], 0.0F);
      EXPECT_NE(gradient[0], 0.0F);
    }
  }
}

// Hugging Face's rotate_half and GPT-J's rotate_every_two, on an eager bf16 stack.
TEST_F(OpOptions, LayoutsRotateAsTheTextbooksDo) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  const auto low = [](float x) { return round_to(DType::kBf16, x); };
  Tensor x = device.allocate({4, 8}, DType::kBf16, "x");
  for (std::size_t i = 0; i < 32; ++i) x.host()[i] = low(test::golden_uniform(1, i, 2.0F));
  const auto plain = ops::rotary_tables(device, 4, 8, {.base = 100});
  for (const auto layout : {ops::RotaryLayout::kHalves, ops::RotaryLayout::kPairs}) {
    const bool is_paired = layout == ops::RotaryLayout::kPairs;
    const auto tables = ops::rotary_tables(device, 4, 8, {.base = 100, .layout = layout});
    const Tensor y = ops::rotary(x, tables, {.time = 4}, "y");
    const std::vector<std::int64_t> places = {0, 1, 2, 3};
    const Tensor same = ops::rotary(x, tables, {.each = places}, "y");
    EXPECT_TRUE(std::ranges::equal(y.host(), same.host()));
    for (std::int64_t t = 0; t < 4; ++t) {
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::int64_t first = is_paired ? 2 * i : i, second = is_paired ? 2 * i + 1 : i + 4;
        const float x1 = std::as_const(x).matrix().row(t)[first],
                    x2 = std::as_const(x).matrix().row(t)[second];
        const float c = plain.cos.matrix().row(t)[i], s = plain.sin.matrix().row(t)[i];
        EXPECT_EQ(y.matrix().row(t)[first], low(low(x1 * c) - low(x2 * s))) << t << " " << i;
        EXPECT_EQ(y.matrix().row(t)[second], low(low(x2 * c) + low(x1 * s))) << t << " " << i;
      }
    }
  }
}

// The fp32 logits of an eager stack that caps them: not rounded to bf16.
TEST_F(OpOptions, LogitsCappedInFp32StayFp32) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Tensor x = device.allocate({3, kWidth}, DType::kBf16, "x");
  for (std::size_t i = 0; i < x.host().size(); ++i)
    x.host()[i] = round_to(DType::kBf16, test::golden_uniform(1, i, 2.0F));
  Model model(device, {});
  const Tensor& w = model.weights[0].value;
  ops::HeadScratch scratch;
  const auto logits_of = [&](const ops::HeadOptions& options) {
    std::vector<float> all;
    ops::head_logits(
        device, x, w, {},
        [&](std::int64_t, ConstMatrix block) {
          EXPECT_EQ(block.cols, options.vocab == 0 ? kPadded : options.vocab);
          for (std::int64_t i = 0; i < block.rows; ++i)
            all.insert(all.end(), block.row(i), block.row(i) + block.cols);
        },
        scratch, options);
    return all;
  };
  const std::vector<float> raw = logits_of({.softcap = 0}),
                           few = logits_of({.softcap = 0, .vocab = 19}), rounded = logits_of({}),
                           exact = logits_of({.caps_in_fp32 = true});
  bool differs = false;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    EXPECT_EQ(raw[i], round_to(DType::kBf16, raw[i]));
    EXPECT_EQ(rounded[i], round_to(DType::kBf16, rounded[i]));
    EXPECT_NEAR(exact[i], 15.0 * std::tanh(static_cast<double>(raw[i]) / 15.0), 1e-5);
    differs = differs || exact[i] != rounded[i];
  }
  EXPECT_TRUE(differs);
  ASSERT_EQ(few.size(), 3U * 19U);
  EXPECT_TRUE(std::equal(few.begin(), few.begin() + 19, raw.begin()));

  // Scores are those of these logits.
  const std::vector<int> targets = {3, -1, 18};
  std::vector<float> log_probs(3);
  std::vector<int> best(3);
  ops::head_scores(device, x, w, targets, log_probs, best, {.caps_in_fp32 = true, .vocab = 19});
  const std::vector<float> z = logits_of({.caps_in_fp32 = true, .vocab = 19});
  double sum = 0;
  for (std::size_t i = 0; i < 19; ++i) sum += std::exp(static_cast<double>(z[i]));
  EXPECT_NEAR(log_probs[0], static_cast<double>(z[3]) - std::log(sum), 1e-5);
  EXPECT_EQ(best[0], std::max_element(z.begin(), z.begin() + 19) - z.begin());
  std::vector<float> losses(3);
  ops::head_losses(device, x, w, targets, false, losses, {.caps_in_fp32 = true, .vocab = 19});
  EXPECT_NEAR(losses[2], -log_probs[2], 1e-5);
}

TEST_F(OpOptions, WhatTheHeadCannotDoFailsTheCheck) {
  Device device(*load_profile("h100_sxm"), ExecutionMode::kExecute);
  Model model(device, {});
  const Tensor x = device.allocate({3, kWidth}, DType::kBf16, "x");
  const std::vector<int> targets = {0, 1, 19};
  const auto run = [&](const ops::HeadOptions& options) {
    std::vector<float> losses(3);
    ops::head_losses(device, x, model.weights[0].value, targets, true, losses, options);
  };
  EXPECT_NO_THROW(run({.vocab = 20}));
  EXPECT_THROW(run({.vocab = 19}), CheckFailure);  // a target that is padding
  EXPECT_THROW(run({.vocab = kPadded + 1}), CheckFailure);
  EXPECT_THROW(run({.softcap = -1}), CheckFailure);
  EXPECT_THROW((void)ops::rotary_tables(device, 4, 8, {.base = 0}), CheckFailure);
}

// A window costs what its keys cost: at once, and in caches.
TEST_F(OpOptions, AFusedWindowIsPaidForItsKeysAlone) {
  const auto time_of = [](const std::string& profile, std::int64_t window, bool is_cached) {
    DeviceProfile machine = *load_profile(profile);
    machine.launch.host_dispatch.value = machine.launch.submit.value = 0;  // the device alone
    machine.launch.vector_kernel.value = machine.launch.matrix_kernel.value = 0;
    Device device(machine, ExecutionMode::kDry);
    const std::int64_t keys = profile == "cpu_ref" ? 4096 : 32768, queries = is_cached ? 512 : keys;
    const Tensor q = device.allocate({queries, 1024}, DType::kBf16, "q"),
                 k = device.allocate({keys, 1024}, DType::kBf16, "k");
    const std::vector<int> tokens(static_cast<std::size_t>(queries));
    const auto prefix =
        std::make_shared<KeyValueCache>(device, CacheShape{.layers = 1, .width = 1024}, 0, keys);
    prefix->advance(keys - queries);
    const Chunk chunk = {.tokens = tokens, .first_position = keys - queries, .prefix = {prefix}};
    const Tensor new_k = device.allocate({queries, 1024}, DType::kBf16, "k");
    device.synchronize();
    const std::int64_t start = device.time_ns();
    if (is_cached) {
      static_cast<void>(ops::attention_cached(
          q, new_k, new_k, {.chunks = {&chunk, 1}},
          {.heads = 8, .kv_heads = 8, .head_dim = 128, .window = window}, ""));
    } else {
      static_cast<void>(ops::attention(q, k, k, {1, keys, 8, 8, 128, window}, ""));
    }
    device.synchronize();
    return device.time_ns() - start;
  };
  for (const bool is_cached : {false, true}) {
    const std::int64_t all = time_of("ascend_910b3", 0, is_cached);
    EXPECT_EQ(time_of("ascend_910b3", 32768, is_cached), all);
    // Per block the window, half a tile of 512 at each of its edges and a ramp of 1,024 keys,
    // against 16,384 keys on average (cached: 32,768) and the ramp: 1/6.8 at most.
    EXPECT_LT(time_of("ascend_910b3", 1024, is_cached), all / 6);
    EXPECT_EQ(time_of("cpu_ref", 1024, is_cached), time_of("cpu_ref", 0, is_cached));
  }
}

}  // namespace
}  // namespace nb
