// Fronts of the ops: shapes are checked, every op costs time, nothing simulated stays behind. What
// they compute is tested with the kernels and the GPT.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/base/check.hpp"
#include "model/ops/activation_buffer.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/embedding.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/linear_add.hpp"
#include "model/ops/linear_relu_squared.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/ops/pointwise.hpp"
#include "model/ops/rms_norm.hpp"
#include "model/ops/rotary.hpp"
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
  // Of floats or halves.
  static std::vector<float> values(const Tensor& t) {
    std::vector<float> all(t.host().begin(), t.host().end());
    for (const std::uint16_t half : t.halves())
      all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16));
    return all;
  }
  Device device_{*load_profile("ascend_910b3"), ExecutionMode::kExecute};
};

TEST_F(Ops, MismatchedShapesAreRefusedWithBothNamed) {
  const Tensor x = tensor({4, 6});
  const Tensor w = tensor({5, 7});
  try {
    (void)ops::linear(device_, x, w, "c_q", nullptr);
    FAIL() << "accepted";
  } catch (const CheckFailure& failure) {
    const std::string text = failure.what();
    EXPECT_NE(text.find("[linear] c_q: x (4, 6), w (out, in) (5, 7)"), std::string::npos) << text;
  }
  EXPECT_THROW((void)ops::linear_backward_input(device_, x, w, ""), CheckFailure);
  Tensor dw = tensor({5, 7});
  EXPECT_THROW(ops::linear_backward_weight(device_, x, x, dw, false, "", {}), CheckFailure);
  EXPECT_THROW((void)ops::rms_norm(device_, x, 4, "", nullptr, nullptr), CheckFailure);
  EXPECT_THROW((void)ops::add(device_, x, w, "", nullptr), CheckFailure);
  EXPECT_THROW((void)ops::linear_relu_squared_backward(device_, x, w, x, w, "", {}), CheckFailure);
  const ops::HeadShape heads = {.batch = 2, .time = 2, .heads = 3, .kv_heads = 3, .head_dim = 4};
  EXPECT_THROW((void)ops::attention(device_, x, x, x, heads, "", nullptr, nullptr), CheckFailure);
  const std::vector<int> ids = {1, 2, 3};
  EXPECT_THROW((void)ops::embedding(device_, w, ids, 4, "", nullptr), CheckFailure);
  const auto tables = ops::rotary_tables(device_, 3, 6);
  EXPECT_THROW((void)ops::rotary(device_, x, tables, 4, "", nullptr), CheckFailure);
}

// A product that is not rounded to bf16 does not fit into halves.
TEST_F(Ops, WideTensorsAreHalvesOnlyWhereTheyAreBf16Numbers) {
  for (const auto& [storage, output, are_halves] :
       {std::tuple(DType::kBf16, DType::kBf16, true), std::tuple(DType::kBf16, DType::kFp32, false),
        std::tuple(DType::kFp32, DType::kBf16, false)}) {
    DeviceProfile profile = *load_profile("ascend_910b3");
    profile.numerics.storage = storage;
    profile.numerics.matmul_output = output;
    Device device(profile, ExecutionMode::kExecute);
    EXPECT_EQ(ops::activation_buffer(device) == HostBuffer::kHalves, are_halves);
    Tensor x = device.allocate({3, 6}, DType::kBf16, "x"),
           w = device.allocate({5, 6}, DType::kFp32, "w");
    std::ranges::fill(x.host(), 1.0F);
    std::ranges::fill(w.host(), 1.0F / 512 + 1.0F);  // six of them need more bits than bf16 has
    SavedBlocks of_linear, of_relu;
    const auto [wide, h] = ops::linear_relu_squared(device, x, w, "", "", &of_linear, &of_relu);
    EXPECT_EQ(!wide.halves().empty(), are_halves);
    EXPECT_EQ(values(wide), values(ops::linear(device, x, w, "", nullptr)));
    of_linear.free();
    of_relu.free();
  }
}

TEST_F(Ops, AChangedWeightIsPackedAnew) {
  const Tensor x = tensor({3, 6});
  Tensor w = tensor({5, 6});
  const auto both = [&] {
    return std::pair(ops::linear(device_, x, w, "", nullptr).matrix().row(2)[4],
                     ops::linear_backward_input(device_, tensor({3, 5}), w, "").matrix().row(2)[5]);
  };
  EXPECT_EQ(both(), std::pair(6.0F, 5.0F));
  EXPECT_EQ(both(), std::pair(6.0F, 5.0F));
  std::fill(w.host().begin(), w.host().end(), 2.0F);
  EXPECT_EQ(both(), std::pair(12.0F, 10.0F));
  w.matrix().row(4)[5] = 0.0F;
  EXPECT_EQ(both(), std::pair(10.0F, 8.0F));
  const Tensor moved = std::move(w);
  EXPECT_EQ(ops::linear(device_, x, moved, "", nullptr).matrix().row(2)[4], 10.0F);
}

// Of one shape, of different ones, and where one is added and the other is not.
TEST_F(Ops, WeightGradientsTogetherAreEachAlone) {
  const auto filled = [&](std::initializer_list<std::int64_t> shape, std::size_t step) {
    Tensor t = tensor(shape);
    for (std::size_t i = 0; i < t.host().size(); ++i)
      t.host()[i] = static_cast<float>(i * step % 13) - 6.0F;
    return t;
  };
  const Tensor x = filled({9, 6}, 5);
  for (const std::int64_t rows : {64, 7}) {
    for (const bool accumulate : {false, true}) {
      const Tensor dv = filled({9, 64}, 3), dk = filled({9, rows}, 4), dq = filled({9, 64}, 7);
      Tensor v = filled({64, 6}, 2), k = filled({rows, 6}, 2), q = filled({64, 6}, 2);
      ops::WeightGradients together;
      const auto later = ops::Arithmetic::kLater;
      const std::vector<float> before = values(v);
      ops::linear_backward_weight(device_, {&dv, &v, true}, x, "v", {}, together, later);
      ops::linear_backward_weight(device_, {&dk, &k, accumulate}, x, "k", {}, together, later);
      EXPECT_EQ(values(v), before);
      ops::linear_backward_weight(device_, {&dq, &q, true}, x, "q", {}, together,
                                  ops::Arithmetic::kNow);
      EXPECT_EQ(together.count, 0U);
      const auto alone = [&](const Tensor& dy, bool adds) {
        Tensor dw = filled({dy.shape().last(), 6}, 2);
        ops::linear_backward_weight(device_, dy, x, dw, adds, "", {});
        return values(dw);
      };
      EXPECT_EQ(values(v), alone(dv, true));
      EXPECT_EQ(values(k), alone(dk, accumulate));
      EXPECT_EQ(values(q), alone(dq, true));
      for (std::size_t i = 0; i < ops::WeightGradients::kMost; ++i)
        ops::linear_backward_weight(device_, {&dv, &v, true}, x, "", {}, together, later);
      EXPECT_THROW(
          ops::linear_backward_weight(device_, {&dv, &v, true}, x, "", {}, together, later),
          CheckFailure);
    }
  }
}

// wide = x wᵀ; h = relu²(wide); the backward's first factor is dy w, its second the sign of wide.
TEST_F(Ops, ALinearAndItsReluSquaredInOneAreTheTwoOneAfterTheOther) {
  Tensor x = tensor({3, 6}), w = tensor({5, 6}), dy = tensor({3, 7}), out = tensor({7, 5});
  const auto fill = [](Tensor& t, std::size_t step) {
    for (std::size_t i = 0; i < t.host().size(); ++i)
      t.host()[i] = static_cast<float>(i * step % 11) - 5.0F;
  };
  fill(x, 3), fill(w, 5), fill(dy, 7), fill(out, 2);
  const std::uint64_t before = device_.memory().allocated_bytes;
  const auto bytes_now = [&] { return device_.memory().allocated_bytes - before; };
  std::uint64_t bytes_without_backward = 0;
  std::vector<float> h_without_backward;
  {
    const auto results = ops::linear_relu_squared(device_, x, w, "", "", nullptr, nullptr);
    bytes_without_backward = bytes_now();
    h_without_backward = values(results.h);
  }
  {
    SavedBlocks of_linear, of_relu;
    const auto [wide, h] =
        ops::linear_relu_squared(device_, x, w, "c_fc", "relu_squared", &of_linear, &of_relu);
    EXPECT_GT(bytes_now(), bytes_without_backward);  // relu(wide)
    EXPECT_EQ(values(h), h_without_backward);
    const Tensor expected = ops::linear(device_, x, w, "", nullptr);
    EXPECT_EQ(values(wide), values(expected));
    const Tensor dh = ops::linear_backward_input(device_, dy, out, "");
    const Tensor dwide =
        ops::linear_relu_squared_backward(device_, dy, out, dh, wide, "", std::move(of_relu));
    EXPECT_FALSE(wide.halves().empty() || h.halves().empty() || dwide.halves().empty());
    for (std::size_t i = 0; i < values(wide).size(); ++i) {
      const float positive = std::max(values(wide)[i], 0.0F);
      EXPECT_EQ(values(h)[i], round_to(DType::kBf16, positive * positive)) << i;
      EXPECT_EQ(values(dwide)[i], round_to(DType::kBf16, dh.host()[i] * (2 * positive))) << i;
    }
    of_linear.free();
  }
  EXPECT_EQ(device_.memory().allocated_bytes, before);
}

// On every way a product can take: packed, rounded otherwise than sums, by the host's BLAS.
TEST_F(Ops, ASumWithALinearIsTheTwoOneAfterTheOther) {
  DeviceProfile unrounded = *load_profile("ascend_910b3");
  unrounded.numerics.matmul_output = DType::kFp32;
  for (const DeviceProfile& profile :
       {*load_profile("ascend_910b3"), unrounded, *load_profile("cpu_ref")}) {
    Device apart(profile, ExecutionMode::kExecute), at_once(profile, ExecutionMode::kExecute);
    const auto filled = [](Device& device, const Shape& shape, std::size_t step) {
      Tensor t = device.allocate(shape, device.numerics().storage, "t");
      for (std::size_t i = 0; i < t.host().size(); ++i)
        t.host()[i] = static_cast<float>(i * step % 251) / 64 - 1.5F;
      return t;
    };
    const auto outcome = [&](Device& device, bool in_one) {
      const Tensor a = filled(device, {150, 40}, 3), x = filled(device, {150, 70}, 5),
                   w = filled(device, {40, 70}, 7), dy = filled(device, {150, 40}, 11);
      Tensor gradient = filled(device, {150, 70}, 13);
      const Tensor product = in_one ? ops::linear(device, x, w, "proj", nullptr,
                                                  ops::Arithmetic::kLater, HostBuffer::kNone)
                                    : ops::linear(device, x, w, "proj", nullptr);
      const Tensor y = in_one ? ops::add_linear(device, a, product, x, w, "add", nullptr)
                              : ops::add(device, a, product, "add", nullptr);
      const Tensor more = ops::linear_backward_input(
          device, dy, w, "proj", in_one ? ops::Arithmetic::kLater : ops::Arithmetic::kNow);
      if (in_one) {
        ops::add_linear_gradient(device, gradient, more, dy, w, "dn");
      } else {
        for (std::int64_t i = 0; i < gradient.matrix().rows; ++i) {
          for (std::int64_t j = 0; j < gradient.matrix().cols; ++j) {
            float& value = gradient.matrix().row(i)[j];
            value = round_to(device.numerics().storage, value + more.matrix().row(i)[j]);
          }
        }
      }
      return std::tuple(values(y), values(gradient), device.memory().allocated_bytes);
    };
    EXPECT_EQ(outcome(at_once, true), outcome(apart, false)) << profile.name();
  }
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
    device.synchronize();
    const std::int64_t start_ns = device.time_ns();
    const Tensor whole = ops::attention(device, q, k, v, heads, "", nullptr, nullptr);
    device.synchronize();
    const std::int64_t whole_ns = device.time_ns() - start_ns;
    const kernels::KeySegment segments[] = {
        {row_block(k.matrix(), 0, 3), row_block(v.matrix(), 0, 3)},
        {row_block(k.matrix(), 3, 2), row_block(v.matrix(), 3, 2)}};
    const kernels::CachedSequence sequence = {.queries = 5, .segments = segments};
    const kernels::CachedShape shape = {.heads = 2, .kv_heads = 1, .head_dim = 4};
    const Tensor cached = ops::attention_cached(device, q, {&sequence, 1}, shape, "");
    device.synchronize();
    // cpu_ref has no fused operator: whole sequences score masked keys too, ragged ones do not.
    EXPECT_LE(device.time_ns() - start_ns, 2 * whole_ns) << software;
    if (software == std::string_view("ascend_910b3")) {
      EXPECT_EQ(device.time_ns() - start_ns, 2 * whole_ns);
    }
    EXPECT_TRUE(std::ranges::equal(whole.host(), cached.host())) << software;
    EXPECT_THROW((void)ops::attention_cached(device, k, {&sequence, 1}, shape, ""), CheckFailure);
  }
}

TEST_F(Ops, RotaryOfGivenPositionsTurnsEachRow) {
  const auto tables = ops::rotary_tables(device_, 6, 4);
  const Tensor x = tensor({3, 8});
  const Tensor in_order = ops::rotary(device_, x, tables, 3, "", nullptr);
  const Tensor mixed = ops::rotary(device_, x, tables, std::vector<std::int64_t>{2, 0, 1}, "");
  EXPECT_TRUE(std::ranges::equal(mixed.host().subspan(0, 8), in_order.host().subspan(16, 8)));
  EXPECT_TRUE(std::ranges::equal(mixed.host().subspan(8, 16), in_order.host().subspan(0, 16)));
  EXPECT_THROW((void)ops::rotary(device_, x, tables, std::vector<std::int64_t>{0}, ""),
               CheckFailure);
}

TEST_F(Ops, EveryCallTakesTimeAndLeavesOnlyItsResult) {
  const Tensor x = tensor({4, 6});
  const Tensor w = tensor({8, 6});
  const std::uint64_t before = device_.memory().allocated_bytes;
  const std::uint64_t ops_before = device_.counters().ops;
  const std::int64_t time_before = device_.time_ns();
  SavedBlocks saved;
  {
    const Tensor y = ops::linear(device_, x, w, "w", &saved);
    EXPECT_GT(device_.memory().allocated_bytes, before);
    EXPECT_FLOAT_EQ(y.host()[0], 6.0F);
  }
  saved.free();
  EXPECT_EQ(device_.memory().allocated_bytes, before);
  EXPECT_EQ(device_.counters().ops, ops_before + 1);
  EXPECT_GT(device_.time_ns(), time_before);
}

TEST_F(Ops, ABackwardFreesWhatItsForwardSaved) {
  const Tensor x = tensor({4, 6}, 3.0F);
  std::vector<float> rstd;
  SavedBlocks saved;
  const std::uint64_t before = device_.memory().allocated_bytes;
  {
    const Tensor y = ops::rms_norm(device_, x, 6, "norm", &rstd, &saved);
    EXPECT_EQ(y.host()[5], 1.0F);
    ASSERT_EQ(rstd.size(), 4U);
    const Tensor dx = ops::rms_norm_backward(device_, y, x, 6, rstd, "norm", std::move(saved));
    EXPECT_NEAR(dx.host()[0], 0, 1e-6);  // a norm has no slope along its input
  }
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
