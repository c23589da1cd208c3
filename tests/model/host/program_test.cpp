// Recorded arithmetic: it runs when a value is read, computes what somebody wants and no more, and
// has the bits of the ops one after the other on every shape and way that a product can take.
#include "model/host/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/host/plan.hpp"
#include "model/ops/activations.hpp"
#include "model/ops/elementwise.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/norms.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/rows.hpp"

namespace nb {
namespace {

Tensor filled(Device& device, const Shape& shape, std::size_t step, DType dtype) {
  Tensor t = device.allocate(shape, dtype, "t");
  for (std::size_t i = 0; i < t.host().size(); ++i)
    t.host()[i] = round_to(dtype, static_cast<float>(i * step % 251) / 64 - 1.5F);
  return t;
}

std::vector<float> values(const Tensor& t) { return {t.host().begin(), t.host().end()}; }

class HostProgram : public testing::Test {
 protected:
  void TearDown() override { host::set_fusion(true); }
  Tensor tensor(const Shape& shape, std::size_t step = 3) {
    return filled(device_, shape, step, DType::kBf16);
  }
  Parameter weight(const Shape& shape, std::size_t step = 5) {
    return {.name = "w", .value = filled(device_, shape, step, DType::kFp32)};
  }
  Device device_{*load_profile("ascend_910b3"), ExecutionMode::kExecute};
};

TEST_F(HostProgram, AnOpRunsWhenItsResultIsRead) {
  Parameter w = weight({5, 6});
  const Tensor x = tensor({3, 6});
  const Tensor y = ops::linear(x, w);
  ASSERT_NE(y.values(), nullptr);
  EXPECT_TRUE(y.values()->is_pending);
  EXPECT_EQ(y.values()->buffer, nullptr);
  EXPECT_EQ(y.host().size(), 15U);
  EXPECT_FALSE(y.values()->is_pending);
}

TEST_F(HostProgram, WhatNobodyReadsIsNeverMade) {
  Parameter w = weight({64, 64});
  const Tensor x = tensor({64, 64});
  const std::size_t before = device_.host_mallocs();
  {
    const Tensor unused = ops::linear(x, w);
    const Tensor more = ops::linear(unused, w);
  }
  const Tensor y = ops::linear(x, w);
  EXPECT_EQ(y.host().size(), 64U * 64U);
  EXPECT_EQ(device_.host_mallocs(), before + 1);
}

// A write waits for those who were to read the values as they were.
TEST_F(HostProgram, AWriteComesAfterTheReadersBeforeIt) {
  Parameter w = weight({5, 6});
  Tensor x = tensor({3, 6});
  const Tensor expected = ops::linear(x, w);
  const std::vector<float> before = values(expected);
  const Tensor y = ops::linear(x, w);
  std::ranges::fill(x.host(), 0.0F);
  EXPECT_EQ(values(y), before);
  const Tensor z = ops::linear(x, w);
  std::ranges::fill(w.value.host(), 1.0F);
  EXPECT_EQ(values(z), std::vector<float>(15, 0.0F));
}

// Weight gradients of one input: of one shape, of others, added and not; of one weight used twice.
TEST_F(HostProgram, WeightGradientsTogetherAreEachAlone) {
  const Tensor x = tensor({9, 6}, 5);
  for (const std::int64_t rows : {64, 7}) {
    for (const bool accumulate : {false, true}) {
      const Tensor dv = tensor({9, 64}, 3), dk = tensor({9, rows}, 4), dq = tensor({9, 64}, 7);
      const auto outcome = [&](bool fuses) {
        host::set_fusion(fuses);
        Parameter v = weight({64, 6}), k = weight({rows, 6}), q = weight({64, 6});
        const auto with_gradient = [&](Parameter& p) {
          p.grad = filled(device_, p.value.shape(), 2, DType::kFp32);
        };
        with_gradient(v);
        if (accumulate) with_gradient(k);
        ops::linear_backward_weight(dv, x, v, {});
        ops::linear_backward_weight(dk, x, k, {});
        ops::linear_backward_weight(dv, x, v, {});
        ops::linear_backward_weight(dq, x, q, {});
        return std::tuple(values(v.grad), values(k.grad), values(q.grad));
      };
      EXPECT_EQ(outcome(true), outcome(false)) << rows << accumulate;
    }
  }
}

// A weight of two inputs: its gradients are summed in their order, although those of one input are
// computed together.
TEST_F(HostProgram, GradientsOfAWeightOfTwoInputsKeepTheirOrder) {
  const Tensor n = tensor({9, 6}, 5), m = tensor({9, 6}, 9);
  const Tensor d1 = tensor({9, 64}, 3), d2 = tensor({9, 64}, 4), d3 = tensor({9, 64}, 7);
  const auto outcome = [&](bool fuses) {
    host::set_fusion(fuses);
    Parameter w = weight({64, 6}), v = weight({64, 6});
    ops::linear_backward_weight(d1, n, w, {});  // the first one, which assigns
    ops::linear_backward_weight(d2, m, w, {});
    ops::linear_backward_weight(d3, n, v, {});
    return std::tuple(values(w.grad), values(v.grad));
  };
  EXPECT_EQ(outcome(true), outcome(false));
}

// After an op that failed, what was recorded has no values, and says so.
TEST_F(HostProgram, WhatAFailureLeftUnmadeIsEmpty) {
  Parameter table = weight({5, 6});
  const std::vector<int> ids = {1, 99};
  const Tensor y = ops::embedding(table, ids, 2);
  EXPECT_THROW(static_cast<void>(y.host()), CheckFailure);
  EXPECT_TRUE(y.host().empty());
  EXPECT_THROW(static_cast<void>(y.matrix()), CheckFailure);
}

// A product and a rotation that others read before relu² and the norm do.
TEST_F(HostProgram, APatternWaitsForNoEarlierReader) {
  const ops::RotaryTables tables = ops::rotary_tables(device_, 8, 16);
  const Tensor x = tensor({8, 32});
  Parameter w = weight({32, 32});
  const auto outcome = [&](bool fuses) {
    host::set_fusion(fuses);
    Tensor h = ops::linear(x, w);
    const Tensor early = ops::rms_norm(h, 32, "early");
    const Tensor relu = ops::relu_squared(h, "relu");
    Tensor rotated = ops::rotary(h, tables, {.time = 8}, "rotated");
    const Tensor read = ops::add(rotated, early, "read");
    const Tensor normed = ops::rms_norm(rotated, 16, "normed");
    h = {}, rotated = {};
    return std::tuple(values(early), values(relu), values(read), values(normed));
  };
  EXPECT_EQ(outcome(true), outcome(false));
}

// Between products, where a policy rounds to bf16 and nobody outside may look.
TEST_F(HostProgram, ValuesTakeTwoBytesOnlyWhereTheyAreBf16NumbersThatNobodyHolds) {
  Parameter w = weight({64, 64});
  const Tensor x = tensor({64, 64});
  DeviceProfile unrounded = *load_profile("ascend_910b3");
  unrounded.numerics.matmul_output = DType::kFp32;
  Device other(unrounded, ExecutionMode::kExecute);
  for (const NumericsPolicy* numerics : {&device_.numerics(), &other.numerics()}) {
    for (const bool is_held : {false, true}) {
      host::Values between = std::make_shared<HostValues>(device_, 64, 64);
      const HostValues* const made = between.get();
      const Tensor y = device_.allocate({64, 64}, DType::kBf16, "y");
      std::vector<host::Op> ops = {
          {.kind = OpKind::kRmsNorm,
           .numerics = numerics,
           .operands = host::RmsNorm{x.values(), between, nullptr, 64}},
          {.kind = OpKind::kLinear,
           .numerics = numerics,
           .operands = host::Product{between, w.value.values(), y.values()}}};
      const host::Values kept = is_held ? between : nullptr;
      between.reset();
      const host::Plan plan(std::move(ops), true);
      const host::Values& norm = plan.op(0).as<host::RmsNorm>().y;
      ASSERT_EQ(norm.get(), made);
      EXPECT_EQ(plan.is_bf16(norm), !is_held && numerics == &device_.numerics());
      EXPECT_FALSE(plan.is_bf16(y.values())) << "y is held";
    }
  }
}

// Where nobody reads anything, what waits is limited.
TEST_F(HostProgram, AnEndlessRecordingRunsNowAndThen) {
  Parameter w = weight({1, 1});
  const Tensor x = tensor({1, 1});
  const Tensor y = ops::linear(x, w);
  for (int i = 0; i < (1 << 16); ++i) static_cast<void>(ops::linear(x, w));
  EXPECT_FALSE(y.values()->is_pending);
}

// A block with a residual, forward and backward, on every way that a product can take: rounded to
// bf16, not rounded, by the host's BLAS, in blocks of 16, with fp32 storage.
TEST_F(HostProgram, FusionChangesNoBitOnAnyPolicy) {
  std::vector<DeviceProfile> profiles = {*load_profile("ascend_910b3"), *load_profile("h100_sxm"),
                                         *load_profile("cpu_ref")};
  DeviceProfile other = profiles[0];
  other.numerics.matmul_output = DType::kFp32;
  profiles.push_back(other);
  other = profiles[0];
  other.numerics.storage = DType::kFp32;
  profiles.push_back(other);
  other = profiles[0];
  other.numerics.accumulation = Accumulation::kBlock16;
  profiles.push_back(other);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const auto outcome = [&](bool fuses) {
      host::set_fusion(fuses);
      Device device(profiles[i], ExecutionMode::kExecute);
      const DType storage = device.numerics().storage;
      const auto w = [&](const Shape& shape, std::size_t step) {
        return Parameter{.name = "w", .value = filled(device, shape, step, DType::kFp32)};
      };
      Parameter in = w({70, 70}, 11), up = w({130, 70}, 5), down = w({70, 130}, 7);
      const Tensor x0 = filled(device, {150, 70}, 3, storage),
                   dy = filled(device, {150, 70}, 13, storage);
      Tape tape;
      Tensor x = ops::linear(x0, in);
      Tensor h = ops::linear(ops::rms_norm(x, 70, "norm"), up);
      h = ops::relu_squared(h, "relu");
      Tensor y = ops::add(x, ops::linear(h, down), "add");
      const Tensor sum = ops::add(y, y, "twice");
      x = {}, h = {};
      tape.backward(y, dy);
      return std::tuple(values(sum), values(in.grad), values(up.grad), values(down.grad),
                        device.memory().peak_allocated_bytes);
    };
    EXPECT_EQ(outcome(true), outcome(false)) << "profile " << i;
  }
}

TEST_F(HostProgram, EveryPatternHasANameOfItsOwn) {
  std::vector<std::string> names;
  for (const host::Pattern& pattern : host::patterns()) names.emplace_back(pattern.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace
}  // namespace nb
