// A model that nobody planned: attention and MLP side by side on one norm, one matrix for the
// embedding and the head, a norm that is used twice. It takes the ops as they are; its gradients
// are those of differences, and it learns.
#include <gtest/gtest.h>

#include <cmath>

#include "model/autograd/tape.hpp"
#include "model/host/program.hpp"
#include "model/ops/activations.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/elementwise.hpp"
#include "model/ops/head.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/norms.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/rows.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

constexpr std::int64_t kBatch = 2, kTime = 6, kWidth = 16, kHead = 8, kVocab = 19;

struct Parallel {
  explicit Parallel(Device& device) {
    const auto make = [&](const char* name, std::int64_t out, std::int64_t in) {
      Parameter p = {.name = name, .value = device.allocate({out, in}, DType::kFp32, name)};
      for (std::size_t i = 0; i < p.value.host().size(); ++i)
        p.value.host()[i] = test::golden_uniform(weights.size(), i, 0.4F);
      weights.push_back(std::move(p));
    };
    weights.reserve(8);  // the tape refers to parameters
    make("tokens", kVocab, kWidth);
    for (const char* name : {"q", "k", "v", "out"}) make(name, kWidth, kWidth);
    make("up", 3 * kWidth, kWidth);
    make("down", kWidth, 3 * kWidth);
    tables = ops::rotary_tables(device, kTime, kHead);
  }

  Tensor loss(const test::GoldenTokens& tokens) {
    const ops::HeadShape heads = {kBatch, kTime, kWidth / kHead, kWidth / kHead, kHead};
    Tensor x = ops::embedding(weights[0], tokens.inputs, kBatch * kTime);
    const Tensor n = ops::rms_norm(x, kWidth, "norm");
    const Tensor q = ops::rotary(ops::linear(n, weights[1]), tables, {.time = kTime}, "q");
    const Tensor k = ops::rotary(ops::linear(n, weights[2]), tables, {.time = kTime}, "k");
    const Tensor a =
        ops::linear(ops::attention(q, k, ops::linear(n, weights[3]), heads, "a"), weights[4]);
    const Tensor m = ops::linear(ops::gelu(ops::linear(n, weights[5]), "gelu"), weights[6]);
    x = ops::add(ops::add(x, a, "x+a"), m, "x+a+m");
    return ops::head_loss(ops::rms_norm(ops::add(x, n, "x+n"), kWidth, "last"), weights[0],
                          tokens.targets, 1.0);
  }

  void step(float rate) {
    for (Parameter& p : weights) {
      for (std::size_t i = 0; i < p.value.host().size(); ++i)
        p.value.host()[i] -= rate * p.grad.host()[i];
      p.grad = {};
    }
  }

  std::vector<Parameter> weights;
  ops::RotaryTables tables;
};

const test::GoldenTokens kTokens = test::golden_tokens(1, kBatch, kTime, kVocab, 5);

TEST(UnplannedModel, GradientsAgreeWithDifferences) {
  for (const bool fuses : {true, false}) {
    host::set_fusion(fuses);
    Device device(test::fp32_profile(), ExecutionMode::kExecute);
    Parallel model(device);
    {
      Tape tape;
      Tensor loss = model.loss(kTokens);
      tape.backward(loss);
    }
    for (std::size_t p = 0; p < model.weights.size(); ++p) {
      Parameter& w = model.weights[p];
      const std::vector<float> saved(w.value.host().begin(), w.value.host().end());
      double slope = 0, norm = 0;
      for (std::size_t i = 0; i < saved.size(); ++i) {
        const double g = w.grad.host()[i], direction = test::golden_uniform(90 + p, i, 1.0F);
        slope += g * direction;
        norm += g * g / 3;
      }
      const auto moved = [&](float h) {
        for (std::size_t i = 0; i < saved.size(); ++i)
          w.value.host()[i] = saved[i] + h * test::golden_uniform(90 + p, i, 1.0F);
        const Tensor loss = model.loss(kTokens);
        return static_cast<double>(loss.host()[0]);
      };
      constexpr float kStep = 0x1p-8F;
      const double wide = (moved(2 * kStep) - moved(-2 * kStep)) / (4 * kStep);
      const double near = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      std::ranges::copy(saved, w.value.host().begin());
      EXPECT_NEAR((4 * near - wide) / 3, slope, 2e-3 * std::sqrt(norm) + 3e-4) << w.name;
    }
  }
  host::set_fusion(true);
}

TEST(UnplannedModel, Learns) {
  Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
  Parallel model(device);
  std::vector<float> losses;
  for (int i = 0; i < 60; ++i) {
    Tape tape;
    Tensor loss = model.loss(kTokens);
    tape.backward(loss);
    losses.push_back(loss.host()[0]);
    model.step(0.1F);
  }
  EXPECT_GT(losses.front(), 2.0F);
  EXPECT_LT(losses.back(), 0.5F * losses.front());
}

}  // namespace
}  // namespace nb
