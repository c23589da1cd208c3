// Fronts of the ops: shapes are checked, every op costs time, nothing simulated stays behind. What
// they compute is tested with the kernels and the GPT.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/kernels/inverse_root.hpp"
#include "model/ops/activations.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/elementwise.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/norms.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/rows.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

class Ops : public testing::Test {
 protected:
  Tensor tensor(const Shape& shape, float value = 1.0F) {
    Tensor t = device_.allocate(shape, DType::kBf16, "t");
    std::fill(t.host().begin(), t.host().end(), value);
    return t;
  }
  Parameter parameter(const Shape& shape, float value = 1.0F) {
    return {.name = "w", .value = tensor(shape, value)};
  }
  Device device_{*load_profile("ascend_910b3"), ExecutionMode::kExecute};
};

TEST_F(Ops, MismatchedShapesAreRefusedWithBothNamed) {
  const Tensor x = tensor({4, 6});
  Parameter w = parameter({5, 7});
  w.name = "c_q";
  try {
    (void)ops::linear(x, w);
    FAIL() << "accepted";
  } catch (const CheckFailure& failure) {
    const std::string text = failure.what();
    EXPECT_NE(text.find("[linear] c_q: x (4, 6), w (out, in) (5, 7)"), std::string::npos) << text;
  }
  EXPECT_THROW((void)ops::linear_backward_input(x, w.value, ""), CheckFailure);
  EXPECT_THROW(ops::linear_backward_weight(x, x, w, {}), CheckFailure);
  EXPECT_THROW((void)ops::rms_norm(x, 4, ""), CheckFailure);
  EXPECT_THROW((void)ops::add(x, w.value, ""), CheckFailure);
  const ops::HeadShape heads = {.batch = 2, .time = 2, .heads = 3, .kv_heads = 3, .head_dim = 4};
  EXPECT_THROW((void)ops::attention(x, x, x, heads, ""), CheckFailure);
  const std::vector<int> ids = {1, 2, 3};
  EXPECT_THROW((void)ops::embedding(w, ids, 4), CheckFailure);
  const auto tables = ops::rotary_tables(device_, 3, 6);
  EXPECT_THROW((void)ops::rotary(x, tables, {.time = 4}, ""), CheckFailure);
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    (void)call();
  } catch (const CheckFailure& failure) {
    return failure.what();
  }
  return "accepted";
}

TEST_F(Ops, VectorsAndGatesOfAnotherWidthAreRefusedWithBothNamed) {
  const Tensor x = tensor({4, 6}), narrow = tensor({4, 5});
  Parameter five = parameter({5}), six = parameter({6});
  five.name = "five";
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(refusal([&] { return ops::apply_gain(x, five, "l"); }),
         "[apply_gain] l: x (4, 6), five (5)");
  expect(refusal([&] { return ops::add_bias(x, five, "l"); }), "[add_bias] l: x (4, 6), five (5)");
  expect(refusal([&] { return ops::layer_norm(x, six, five, 1, "l"); }),
         "[layer_norm] l: x (4, 6), w (6), five (5)");
  expect(refusal([&] { return ops::multiply(x, narrow, "l"); }),
         "[multiply] l: (4, 6) times (4, 5)");
  expect(refusal([&] { return ops::scale(x, five, "l"); }), "[scale] l: five (5)");
  expect(refusal([&] { return ops::scale(x, five, 5, "l"); }), "[scale] l: element 5 of five (5)");
  expect(refusal([&] { return ops::gate_heads(x, narrow, "l"); }),
         "[gate_heads] l: x (4, 6), gate (4, 5)");
  expect(refusal([&] { return ops::first_columns(x, 7, "l"); }),
         "[first_columns] l: 7 of x (4, 6)");
  expect(refusal([&] { return ops::previous_rows(x, 3, "l"); }),
         "[previous_rows] l: x (4, 6), sequences of 3");
  expect(refusal([&] { return ops::dropout(x, 1.0, Rng(1, "l"), "l"); }), "[dropout] l: rate 1");
}

TEST_F(Ops, DropoutOfNothingIsTheTensorItself) {
  const Tensor x = tensor({4, 6});
  const std::uint64_t before = device_.counters().ops;
  const Tensor y = ops::dropout(x, 0, Rng(1, "l"), "l");
  EXPECT_EQ(y.values(), x.values());
  EXPECT_EQ(device_.counters().ops, before);
}

// A norm whose epsilon is not the usual one is computed as it is, behind a rotation too.
TEST_F(Ops, ANormTakesItsEpsilonBehindARotation) {
  const auto tables = ops::rotary_tables(device_, 4, 6);
  const Tensor x = tensor({4, 6}, 2.0F);
  const Tensor y = ops::rms_norm(ops::rotary(x, tables, {.time = 4}, ""), 6, "", 5.0F);
  // A rotation keeps the mean square 4.
  EXPECT_NEAR(y.host()[0], 2.0F / std::sqrt(4.0F + 5.0F), 0x1p-8);
}

// The card's reciprocal square root reaches every norm, alone and behind a rotation.
TEST(OpsNumerics, AnApproximateRootIsThatOfEveryNorm) {
  DeviceProfile profile = *load_profile("ascend_910b3");
  profile.numerics.storage = DType::kFp32;
  profile.numerics.vector_functions = VectorFunctions::kApproximateRsqrt;
  Device device(std::move(profile), ExecutionMode::kExecute);
  const auto tensor = [&](const Shape& shape) {
    Tensor t = device.allocate(shape, DType::kFp32, "t");
    for (std::size_t i = 0; i < t.host().size(); ++i) t.host()[i] = i % 2 == 0 ? 3.0F : -3.0F;
    return t;
  };
  const Tensor x = tensor({4, 6});
  const float third = kernels::inverse_root(9.0F, Rsqrt::kApproximate);
  ASSERT_NE(third, 1.0F / 3.0F);
  EXPECT_EQ(ops::rms_norm(x, 6, "", 0.0F).host()[0], 3.0F * third);
  const auto tables = ops::rotary_tables(device, 4, 6);
  const Tensor turned = ops::rms_norm(ops::rotary(x, tables, {.time = 4}, ""), 6, "");
  EXPECT_EQ(turned.host()[0], 3.0F * third);  // position 0 is not turned
  Parameter gain{.name = "gain", .value = tensor({6})}, bias{.name = "bias", .value = tensor({6})};
  // The mean is 0, the variance 9: 3 / 3 * 3 + 3.
  EXPECT_EQ(ops::layer_norm(x, gain, bias, 0.0F, "").host()[0], 3.0F * third * 3.0F + 3.0F);
}

TEST_F(Ops, AChangedWeightIsPackedAnew) {
  const Tensor x = tensor({3, 6}), dy = tensor({3, 5});
  Parameter w = parameter({5, 6});
  const auto both = [&] {
    const Tensor y = ops::linear(x, w), dx = ops::linear_backward_input(dy, w.value, "");
    return std::pair(y.matrix().row(2)[4], dx.matrix().row(2)[5]);
  };
  EXPECT_EQ(both(), std::pair(6.0F, 5.0F));
  EXPECT_EQ(both(), std::pair(6.0F, 5.0F));
  std::fill(w.value.host().begin(), w.value.host().end(), 2.0F);
  EXPECT_EQ(both(), std::pair(12.0F, 10.0F));
  w.value.matrix().row(4)[5] = 0.0F;
  EXPECT_EQ(both(), std::pair(10.0F, 8.0F));
  Parameter moved = std::move(w);
  const Tensor y = ops::linear(x, moved);
  EXPECT_EQ(y.matrix().row(2)[4], 10.0F);
}

TEST_F(Ops, ARaggedAttentionOfOneWholeSequenceIsTheAttention) {
  const ops::HeadShape heads = {.batch = 1, .time = 5, .heads = 2, .kv_heads = 1, .head_dim = 4};
  Tensor q = tensor({5, 8}), k = tensor({5, 4}), v = tensor({5, 4});
  for (std::size_t i = 0; i < 20; ++i) {
    q.host()[i] = static_cast<float>(i % 7) - 3.0F;
    k.host()[i] = v.host()[i] = static_cast<float>(i % 5) - 2.0F;
  }
  for (const char* software : {"ascend_910b3", "cpu_ref"}) {
    Device device(*load_profile(software), ExecutionMode::kExecute);
    const auto here = [&](const Tensor& from) {
      Tensor copy = device.allocate(from.shape(), from.dtype(), "t");
      std::ranges::copy(from.host(), copy.host().begin());
      return copy;
    };
    const Tensor own_q = here(std::as_const(q)), own_k = here(std::as_const(k)),
                 own_v = here(std::as_const(v));
    device.synchronize();
    const std::int64_t start_ns = device.time_ns();
    const Tensor whole = ops::attention(own_q, own_k, own_v, heads, "");
    device.synchronize();
    const std::int64_t whole_ns = device.time_ns() - start_ns;
    const std::vector<int> tokens(5);
    const Chunk chunk = {.tokens = tokens};
    const kernels::CachedShape shape = {.heads = 2, .kv_heads = 1, .head_dim = 4};
    const auto attend = [&](const Tensor& of) {
      return ops::attention_cached(of, own_k, own_v, {.chunks = {&chunk, 1}}, shape, "");
    };
    const Tensor cached = attend(own_q);
    device.synchronize();
    // cpu_ref has no fused operator: whole sequences score masked keys too, ragged ones do not.
    EXPECT_LE(device.time_ns() - start_ns, 2 * whole_ns) << software;
    if (software == std::string_view("ascend_910b3")) {
      EXPECT_EQ(device.time_ns() - start_ns, 2 * whole_ns);
    }
    EXPECT_TRUE(std::ranges::equal(whole.host(), cached.host())) << software;
    EXPECT_THROW((void)attend(own_k), CheckFailure);
    const Tape tape;
    EXPECT_THROW((void)attend(own_q), CheckFailure);  // no gradient
  }
}

TEST_F(Ops, RotaryOfGivenPositionsTurnsEachRow) {
  const auto tables = ops::rotary_tables(device_, 6, 4);
  const Tensor x = tensor({3, 8});
  const Tensor in_order = ops::rotary(x, tables, {.time = 3}, "");
  const std::vector<std::int64_t> places = {2, 0, 1}, too_few = {0};
  const Tensor mixed = ops::rotary(x, tables, {.each = places}, "");
  EXPECT_TRUE(std::ranges::equal(mixed.host().subspan(0, 8), in_order.host().subspan(16, 8)));
  EXPECT_TRUE(std::ranges::equal(mixed.host().subspan(8, 16), in_order.host().subspan(0, 16)));
  EXPECT_THROW((void)ops::rotary(x, tables, {.each = too_few}, ""), CheckFailure);
}

TEST_F(Ops, EveryCallTakesTimeAndLeavesOnlyItsResult) {
  const Tensor x = tensor({4, 6});
  Parameter w = parameter({8, 6});
  const std::uint64_t before = device_.memory().allocated_bytes;
  const std::uint64_t ops_before = device_.counters().ops;
  const std::int64_t time_before = device_.time_ns();
  {
    Tape tape;
    const Tensor y = ops::linear(x, w);
    EXPECT_GT(device_.memory().allocated_bytes, before);
    EXPECT_FLOAT_EQ(y.host()[0], 6.0F);
  }
  EXPECT_EQ(device_.memory().allocated_bytes, before);
  EXPECT_EQ(device_.counters().ops, ops_before + 1);
  EXPECT_GT(device_.time_ns(), time_before);
}

TEST_F(Ops, ABackwardFreesWhatItsForwardSaved) {
  Tensor x = tensor({4, 6}, 3.0F);
  const std::uint64_t before = device_.memory().allocated_bytes;
  Tensor dx;
  {
    Tape tape;
    Tape::record(x, {}, {}, [&] {
      return [&dx](const Tensor& dy, const SavedBlocks&) {
        dx = dy.values_only();
        return Tape::Gradients{};
      };
    });
    Tensor y = ops::rms_norm(x, 6, "norm");
    EXPECT_EQ(std::as_const(y).host()[5], 1.0F);
    tape.backward(y, y);
  }
  EXPECT_NEAR(std::as_const(dx).host()[0], 0, 1e-6);  // a norm has no slope along its input
  EXPECT_EQ(device_.memory().allocated_bytes, before);
}

TEST_F(Ops, GradNormIsOverAllTensorsTogether) {
  Tensor a = device_.allocate({2, 3}, DType::kFp32, "a");
  Tensor b = tensor({1, 10}, 0.5F);
  std::fill(a.host().begin(), a.host().end(), -2.0F);
  Tensor* const both[] = {&a, &b};
  EXPECT_DOUBLE_EQ(ops::grad_norm(device_, both), std::sqrt(6 * 4.0 + 10 * 0.25));
  ops::grad_scale(device_, both, 0.3F);
  EXPECT_EQ(a.host()[0], -2.0F * 0.3F);
  EXPECT_EQ(b.host()[0], round_to(DType::kBf16, 0.5F * 0.3F));
}

TEST_F(Ops, UploadRoundsToTheTensorsFormat) {
  Tensor t = tensor({1, 2});
  const std::vector<float> values = {1.0F + 0x1p-12F, -3.0F};
  ops::upload(device_, values, t, "t");
  EXPECT_EQ(t.host()[0], 1.0F);
  EXPECT_EQ(t.host()[1], -3.0F);
  ops::zero(device_, t, "t");
  EXPECT_EQ(t.host()[1], 0.0F);
}

}  // namespace
}  // namespace nb
