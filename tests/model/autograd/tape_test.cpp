#include "model/autograd/tape.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/check.hpp"
#include "model/ops/activations.hpp"
#include "model/ops/elementwise.hpp"
#include "model/ops/linear.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

class TapeOnDevice : public testing::Test {
 protected:
  Tensor tensor(const Shape& shape, float value) {
    Tensor t = device_.allocate(shape, DType::kFp32, "t");
    std::ranges::fill(t.host(), value);
    return t;
  }
  Parameter parameter(const Shape& shape, float value) {
    return {.name = "w", .value = tensor(shape, value)};
  }
  static float first(const Tensor& t) { return t.host()[0]; }
  Device device_{test::fp32_profile(), ExecutionMode::kExecute};
};

TEST_F(TapeOnDevice, WithoutOneNothingIsKept) {
  const Tensor x = tensor({2, 3}, 1);
  Parameter w = parameter({4, 3}, 2);
  const std::uint64_t before = device_.memory().allocated_bytes;
  {
    const Tensor y = ops::linear(x, w);
    EXPECT_FALSE(Tape::wants_gradient(y));
  }
  EXPECT_EQ(device_.memory().allocated_bytes, before);
}

// y = w x twice, in one sum: w's gradient is that of both.
TEST_F(TapeOnDevice, AParameterThatIsUsedTwiceGetsBothGradients) {
  const Tensor x = tensor({2, 3}, 1), dy = tensor({2, 4}, 1);
  Parameter w = parameter({4, 3}, 2);
  Tape tape;
  Tensor y = ops::add(ops::linear(x, w), ops::linear(x, w), "y");
  tape.backward(y, dy);
  EXPECT_EQ(first(w.grad), 4.0F);  // two rows, twice
}

// Micro-batches accumulate; a cleared gradient begins anew.
TEST_F(TapeOnDevice, GradientsAccumulateUntilTheyAreCleared) {
  const Tensor x = tensor({2, 3}, 1), dy = tensor({2, 4}, 1);
  Parameter w = parameter({4, 3}, 2);
  const auto pass = [&] {
    Tape tape;
    Tensor y = ops::linear(x, w);
    tape.backward(y, dy);
    return first(w.grad);
  };
  EXPECT_EQ(pass(), 2.0F);
  EXPECT_EQ(pass(), 4.0F);
  w.grad = {};
  EXPECT_EQ(pass(), 2.0F);
}

// One tensor reached by three ways: h + h + relu²(h).
TEST_F(TapeOnDevice, GradientsThatReachOneTensorAreSummed) {
  const Tensor x = tensor({1, 1}, 3), dy = tensor({1, 1}, 1);
  Parameter w = parameter({1, 1}, 2);
  Tape tape;
  const Tensor h = ops::linear(x, w);  // 6
  Tensor y = ops::add(ops::add(h, h, "h+h"), ops::relu_squared(h, "relu"), "y");
  EXPECT_EQ(first(y), 48.0F);
  tape.backward(y, dy);
  EXPECT_EQ(first(w.grad), 3.0F * (2 + 2 * 6));
}

// A gradient that two tensors share is not changed for one of them.
TEST_F(TapeOnDevice, ASumInPlaceLeavesTheOtherReaderItsValue) {
  const Tensor x = tensor({1, 1}, 3), dy = tensor({1, 1}, 1);
  Parameter a = parameter({1, 1}, 2), b = parameter({1, 1}, 5);
  Tape tape;
  const Tensor h = ops::linear(x, a);       // its gradient is dy, and later dy + b
  const Tensor branch = ops::linear(h, b);  // its gradient is dy
  Tensor y = ops::add(h, branch, "y");
  tape.backward(y, dy);
  EXPECT_EQ(first(b.grad), 6.0F);
  EXPECT_EQ(first(a.grad), 3.0F * (1 + 5));
  EXPECT_EQ(first(dy), 1.0F);
}

TEST_F(TapeOnDevice, ALossLosesItsBlockAndKeepsItsValue) {
  const Tensor x = tensor({1, 1}, 3);
  Parameter w = parameter({1, 1}, 2);
  Tape tape;
  Tensor y = ops::linear(x, w);
  tape.backward(y);  // the node gets y itself for dy
  EXPECT_FALSE(y.has_block());
  EXPECT_EQ(first(y), 6.0F);
  EXPECT_EQ(first(w.grad), 18.0F);
}

TEST_F(TapeOnDevice, WhatItDidNotRecordHasNoGradient) {
  Tensor x = tensor({1, 1}, 3);
  Tape tape;
  EXPECT_THROW(tape.backward(x), CheckFailure);
  Parameter w = parameter({1, 1}, 2);
  {
    Tape inner;
    Tensor y = ops::linear(x, w);
    EXPECT_TRUE(Tape::wants_gradient(y));
    inner.backward(y);
  }
  EXPECT_TRUE(Tape::is_open());
}

// Tapes of a loop lie at one address, and their nodes have the same numbers.
TEST_F(TapeOnDevice, AResultOfAnEarlierTapeHasNoGradientOnTheNext) {
  const Tensor x = tensor({1, 1}, 3), dy = tensor({1, 1}, 1);
  Parameter a = parameter({1, 1}, 2), b = parameter({1, 1}, 5);
  Tensor kept;
  for (int i = 0; i < 2; ++i) {
    Tape tape;
    if (i == 0) {
      kept = ops::linear(x, a);
      continue;
    }
    EXPECT_FALSE(Tape::wants_gradient(kept));
    Tensor y = ops::linear(ops::relu_squared(kept, "relu"), b);
    tape.backward(y, dy);
    EXPECT_FALSE(Tape::wants_gradient(y)) << "the tape has gone back";
    EXPECT_TRUE(Tape::wants_gradient(ops::linear(x, b))) << "and records again";
  }
  EXPECT_TRUE(a.grad.empty());
  EXPECT_EQ(first(b.grad), 36.0F);
}

TEST_F(TapeOnDevice, OneThatIsGivenUpFreesWhatItKept) {
  const Tensor x = tensor({64, 64}, 1);
  Parameter w = parameter({64, 64}, 2);
  const std::uint64_t before = device_.memory().allocated_bytes;
  {
    Tape tape;
    Tensor h = ops::linear(x, w);
    h = ops::relu_squared(h, "relu");
  }
  EXPECT_FALSE(Tape::is_open());
  EXPECT_EQ(device_.memory().allocated_bytes, before);
}

}  // namespace
}  // namespace nb
