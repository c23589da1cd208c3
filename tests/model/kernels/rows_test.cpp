#include "model/kernels/reference/rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "harness/base/check.hpp"
#include "model/kernels/embedding.hpp"
#include "model/kernels/inverse_root.hpp"
#include "model/kernels/reference/elementwise.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary_norm.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::kStorages;
using test::Values;

constexpr std::int64_t kWidths[] = {1, 2, 15, 16, 17, 33, 128, 1000};

TEST(RmsNorm, EqualsItsDefinition) {
  for (const std::int64_t width : kWidths) {
    for (const DType storage : kStorages) {
      for (const Values values : {Values::kOrdinary, Values::kFinite, Values::kNonFinite}) {
        const Array x = test::random_array(9, width, 1, values),
                    dy = test::random_array(9, width, 2);
        Array expected(9, width), expected_dx(9, width);
        std::vector<float> expected_rstd(9);
        reference::rms_norm(x.view(), expected.view(), expected_rstd, storage);
        reference::rms_norm_backward(dy.view(), x.view(), expected_rstd, expected_dx.view(),
                                     storage);
        test::at_every_level([&] {
          Array out(9, width), dx = dy;
          std::vector<float> rstd(9);
          rms_norm(x.view(), out.view(), rstd, storage);
          rms_norm_backward(dx.view(), x.view(), rstd, dx.view(), storage);
          EXPECT_TRUE(test::same_bits(out, expected)) << width;
          EXPECT_TRUE(test::same_bits(rstd, expected_rstd)) << width;
          EXPECT_TRUE(test::same_bits(
              std::span<const float>(dx.view().data, static_cast<std::size_t>(width)),
              std::span<const float>(expected_dx.view().data, static_cast<std::size_t>(width))));
        });
      }
    }
  }
}

// 14 significant bits: 1 bit more than half's 11 and bf16's 8 need, within the 1e-4 of the device.
TEST(RmsNorm, ItsApproximateRootHas14Bits) {
  EXPECT_EQ(inverse_root(3.0f, Rsqrt::kPrecise), 0.57735026f);
  EXPECT_EQ(inverse_root(3.0f, Rsqrt::kApproximate), 0x1.2798p-1f);   // of 0x1.279a74p-1
  EXPECT_EQ(inverse_root(10.0f, Rsqrt::kApproximate), 0x1.43d0p-2f);  // of 0x1.43d136p-2
  EXPECT_EQ(inverse_root(0.25f, Rsqrt::kApproximate), 2.0f);
  EXPECT_EQ(inverse_root(0.0f, Rsqrt::kApproximate), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(inverse_root(-1.0f, Rsqrt::kApproximate)));
  // A tie goes to the even neighbour: 0x1.0004p0 lies between 0x1.0000p0 and 0x1.0008p0.
  EXPECT_EQ(with_14_bits(0x1.0004p0f), 1.0f);
  EXPECT_EQ(with_14_bits(0x1.000cp0f), 0x1.0010p0f);
  for (float x = 1e-6f; x < 1e6f; x *= 1.37f) {
    const double exact = 1 / std::sqrt(static_cast<double>(x));
    EXPECT_NEAR(inverse_root(x, Rsqrt::kApproximate) / exact, 1, 6.2e-5) << x;
    EXPECT_EQ(inverse_root(x, Rsqrt::kApproximate),
              reference::inverse_root(x, Rsqrt::kApproximate));
  }
}

TEST(RmsNorm, ItsApproximateRootEqualsItsDefinition) {
  for (const std::int64_t width : kWidths)
    for (const DType storage : kStorages) {
      const Array x = test::random_array(9, width, 1, Values::kFinite);
      Array expected(9, width);
      std::vector<float> expected_rstd(9);
      reference::rms_norm(x.view(), expected.view(), expected_rstd, storage, kRmsNormEpsilon,
                          Rsqrt::kApproximate);
      test::at_every_level([&] {
        Array out(9, width);
        std::vector<float> rstd(9);
        rms_norm(x.view(), out.view(), rstd, storage, kRmsNormEpsilon, Rsqrt::kApproximate);
        EXPECT_TRUE(test::same_bits(out, expected)) << width;
        EXPECT_TRUE(test::same_bits(rstd, expected_rstd)) << width;
      });
    }
}

TEST(RmsNorm, ManyRowsAreCutTheSameWithAnyNumberOfThreads) {
  for (const std::int64_t rows : {33, 64, 97, 700}) {
    const Array x = test::random_array(rows, 100, 1);
    Array expected(rows, 100);
    reference::rms_norm(x.view(), expected.view(), {}, DType::kBf16);
    test::at_every_level([&] {
      Array out(rows, 100);
      rms_norm(x.view(), out.view(), {}, DType::kBf16);
      EXPECT_TRUE(test::same_bits(out, expected)) << rows;
    });
  }
}

TEST(RmsNorm, ItsGradientAddedToTheResidualsEqualsTheSeparateKernels) {
  for (const std::int64_t width : kWidths) {
    for (const DType storage : kStorages) {
      for (const Values values : {Values::kOrdinary, Values::kFinite, Values::kNonFinite}) {
        const Array x = test::random_array(9, width, 1, values),
                    dy = test::random_array(9, width, 3), dx = test::random_array(9, width, 4);
        Array norm(9, width), branch(9, width), total(9, width);
        std::vector<float> rstd(9);
        reference::rms_norm(x.view(), norm.view(), rstd, storage);
        reference::rms_norm_backward(dy.view(), x.view(), rstd, branch.view(), storage);
        reference::add(dx.view(), branch.view(), total.view(), storage);
        test::at_every_level([&] {
          Array fused = dx;
          rms_norm_backward_add(dy.view(), x.view(), rstd, fused.view(), storage);
          for (std::int64_t row = 0; row < 9; ++row) {
            const auto n = static_cast<std::size_t>(width);
            EXPECT_TRUE(test::same_bits(std::span<const float>(fused.view().row(row), n),
                                        std::span<const float>(total.view().row(row), n)))
                << width;
          }
        });
      }
    }
  }
}

// mean(x²) = 12.5, so out = x / sqrt(12.5 + eps).
TEST(RmsNorm, DividesByTheRootMeanSquare) {
  const float x[] = {3.0f, -4.0f};
  float out[2];
  rms_norm(matrix(x, 1, 2), matrix(out, 1, 2), {}, DType::kFp32);
  EXPECT_FLOAT_EQ(out[0], 0.84852814f);
  EXPECT_FLOAT_EQ(out[1], -1.1313709f);
}

TEST(Rotary, EqualsItsDefinition) {
  for (const std::int64_t head_dim : {2, 6, 32, 40, 128}) {
    RotaryShape shape{.time = 5, .heads = 3, .head_dim = head_dim, .first_position = 2};
    Array cos(7, head_dim / 2), sin(7, head_dim / 2);
    rotary_tables(7, head_dim, DType::kBf16, cos.view(), sin.view());
    for (const PointwisePolicy& policy : test::pointwise_policies()) {
      for (const auto& [values, layout] :
           {std::pair{Values::kOrdinary, RotaryLayout::kHalvesReversed},
            std::pair{Values::kNonFinite, RotaryLayout::kHalvesReversed},
            std::pair{Values::kOrdinary, RotaryLayout::kPairs},
            std::pair{Values::kNonFinite, RotaryLayout::kPairs}}) {
        shape.layout = layout;
        const Array x = test::random_array(10, 3 * head_dim, 1, values);
        Array forward(10, 3 * head_dim), backward(10, 3 * head_dim);
        reference::rotary(x.view(), forward.view(), cos.view(), sin.view(), shape, policy);
        reference::rotary_backward(x.view(), backward.view(), cos.view(), sin.view(), shape,
                                   policy);
        test::at_every_level([&] {
          Array y(10, 3 * head_dim), in_place = x;
          rotary(x.view(), y.view(), cos.view(), sin.view(), shape, policy);
          EXPECT_TRUE(test::same_bits(y, forward)) << test::text(policy) << " D " << head_dim;
          rotary_backward(x.view(), y.view(), cos.view(), sin.view(), shape, policy);
          EXPECT_TRUE(test::same_bits(y, backward)) << test::text(policy) << " D " << head_dim;
          rotary(in_place.view(), in_place.view(), cos.view(), sin.view(), shape, policy);
          EXPECT_EQ(in_place.view().row(9)[0] == forward.view().row(9)[0] ||
                        forward.view().row(9)[0] != forward.view().row(9)[0],
                    true);
        });
      }
    }
  }
}

TEST(Rotary, APositionPerRowEqualsTheRowOfASequence) {
  Array cos(9, 3), sin(9, 3);
  rotary_tables(9, 6, DType::kBf16, cos.view(), sin.view());
  const std::vector<std::int64_t> positions = {8, 0, 3, 3, 1, 7};
  const Array x = test::random_array(6, 12, 1, Values::kNonFinite);
  for (const auto layout : {RotaryLayout::kHalvesReversed, RotaryLayout::kPairs})
    for (const PointwisePolicy& policy : test::pointwise_policies()) {
      Array expected(6, 12);
      for (std::int64_t r = 0; r < 6; ++r) {
        reference::rotary(row_block(x.view(), r, 1), row_block(expected.view(), r, 1), cos.view(),
                          sin.view(),
                          {.time = 1,
                           .heads = 2,
                           .head_dim = 6,
                           .first_position = positions[static_cast<std::size_t>(r)],
                           .layout = layout},
                          policy);
      }
      test::at_every_level([&] {
        Array y(6, 12);
        rotary(x.view(), positions, y.view(), cos.view(), sin.view(), 6, policy, layout);
        EXPECT_TRUE(test::same_bits(y, expected)) << test::text(policy);
      });
      EXPECT_THROW(rotary(x.view(), std::vector<std::int64_t>{0, 1, 2, 3, 4, 9}, expected.view(),
                          cos.view(), sin.view(), 6, policy),
                   CheckFailure);
      EXPECT_THROW(rotary(x.view(), std::vector<std::int64_t>{0}, expected.view(), cos.view(),
                          sin.view(), 6, policy),
                   CheckFailure);
    }
}

TEST(RotaryNorm, EqualsRotaryAndThenTheNormOfEachHead) {
  for (const std::int64_t head_dim : {2, 6, 40, 128}) {
    const std::int64_t cols = 3 * head_dim;
    const RotaryShape shape{.time = 5, .heads = 3, .head_dim = head_dim, .first_position = 2};
    const std::vector<std::int64_t> positions = {2, 3, 4, 5, 6, 2, 3, 4, 5, 6};
    Array cos(7, head_dim / 2), sin(7, head_dim / 2);
    rotary_tables(7, head_dim, DType::kBf16, cos.view(), sin.view());
    std::vector<PointwisePolicy> policies = test::pointwise_policies();
    policies.push_back({.storage = DType::kBf16, .rsqrt = Rsqrt::kApproximate});
    for (const PointwisePolicy& policy : policies) {
      for (const Values values : {Values::kOrdinary, Values::kNonFinite}) {
        const Array x = test::random_array(10, cols, 1, values, 0);
        const Array dy = test::random_array(10, cols, 2, values, 0);
        Array rotated(10, cols, 0), out(10, cols, 0), dx(10, cols, 0);
        const auto by_head = [&](auto m) { return matrix(m.data, 30, head_dim); };
        std::vector<float> rstd(30);
        reference::rotary(x.view(), rotated.view(), cos.view(), sin.view(), shape, policy);
        reference::rms_norm(by_head(ConstMatrix(rotated.view())), by_head(out.view()), rstd,
                            policy.storage, kRmsNormEpsilon, policy.rsqrt);
        reference::rms_norm_backward(by_head(ConstMatrix(dy.view())),
                                     by_head(ConstMatrix(rotated.view())), rstd, by_head(dx.view()),
                                     policy.storage);
        reference::rotary_backward(dx.view(), dx.view(), cos.view(), sin.view(), shape, policy);
        test::at_every_level([&] {
          SCOPED_TRACE(test::text(policy));
          Array kept(10, cols, 0), y(10, cols, 0), back = dy;
          std::vector<float> r(30);
          rotary_norm(x.view(), kept.view(), y.view(), r, cos.view(), sin.view(), shape, policy);
          EXPECT_TRUE(test::same_bits(kept, rotated));
          EXPECT_TRUE(test::same_bits(y, out));
          EXPECT_TRUE(test::same_bits(r, rstd));
          Array alone(10, cols, 0);
          rotary_norm(x.view(), positions, {}, alone.view(), {}, cos.view(), sin.view(), head_dim,
                      policy);
          EXPECT_TRUE(test::same_bits(alone, out));
          rotary_norm_backward(back.view(), kept.view(), r, back.view(), cos.view(), sin.view(),
                               shape, policy);
          EXPECT_TRUE(test::same_bits(back, dx));
        });
      }
    }
  }
}

TEST(RotaryNorm, ShapesThatDisagreeFailTheCheck) {
  Array x(4, 12), out(4, 12), cos(4, 3), sin(4, 3);
  const RotaryShape shape{.time = 4, .heads = 2, .head_dim = 6};
  const auto run = [&](const RotaryShape& s, std::span<float> rstd) {
    rotary_norm(x.view(), {}, out.view(), rstd, cos.view(), sin.view(), s, {});
  };
  EXPECT_NO_THROW(run(shape, {}));
  std::vector<float> rstd(4);
  EXPECT_THROW(run(shape, rstd), CheckFailure);
  EXPECT_THROW(run({.time = 4, .heads = 3, .head_dim = 4}, {}), CheckFailure);
  EXPECT_THROW(run({.time = 4, .heads = 2, .head_dim = 6, .layout = RotaryLayout::kPairs}, {}),
               CheckFailure);
  EXPECT_THROW(run({.time = 4, .heads = 2, .head_dim = 6, .first_position = 1}, {}), CheckFailure);
  EXPECT_THROW(
      rotary_norm_backward(x.view(), x.view(), {}, out.view(), cos.view(), sin.view(), shape, {}),
      CheckFailure);
}

// nanochat's gpt.py: rotation by minus the angle; position 0 is the identity. cos 1, sin 1 from
// tables of degrees.
TEST(Rotary, TurnsByMinusTheAngle) {
  Array cos(2, 1), sin(2, 1);
  rotary_tables(2, 2, DType::kFp32, cos.view(), sin.view());
  EXPECT_EQ(cos.view().row(0)[0], 1.0f);
  EXPECT_EQ(sin.view().row(0)[0], 0.0f);
  EXPECT_FLOAT_EQ(cos.view().row(1)[0], 0.54030231f);
  EXPECT_FLOAT_EQ(sin.view().row(1)[0], 0.84147098f);
  const float x[] = {1.0f, 0.0f};
  float y[2];
  rotary(matrix(x, 1, 2), matrix(y, 1, 2), cos.view(), sin.view(),
         {.time = 1, .heads = 1, .head_dim = 2, .first_position = 1}, {.storage = DType::kFp32});
  EXPECT_FLOAT_EQ(y[0], 0.54030231f);
  EXPECT_FLOAT_EQ(y[1], -0.84147098f);
}

// llama2.c's run.c: v0 = x[2i], v1 = x[2i + 1]; v0·cos - v1·sin, v0·sin + v1·cos.
TEST(Rotary, OfPairsTurnsByTheAngle) {
  Array cos(4, 2), sin(4, 2);
  rotary_tables(4, 4, DType::kFp32, cos.view(), sin.view(), 100.0);
  const float x[] = {1.0f, 0.5f, -2.0f, 3.0f};
  float y[4];
  rotary(
      matrix(x, 1, 4), matrix(y, 1, 4), cos.view(), sin.view(),
      {.time = 1, .heads = 1, .head_dim = 4, .first_position = 3, .layout = RotaryLayout::kPairs},
      {.storage = DType::kFp32});
  for (int i = 0; i < 2; ++i) {
    const double angle = 3.0 * std::pow(100.0, -0.5 * i), c = std::cos(angle), s = std::sin(angle);
    EXPECT_NEAR(y[2 * i], x[2 * i] * c - x[2 * i + 1] * s, 1e-6) << i;
    EXPECT_NEAR(y[2 * i + 1], x[2 * i] * s + x[2 * i + 1] * c, 1e-6) << i;
  }
}

TEST(Rotary, PositionsBeyondTheTableFailTheCheck) {
  Array cos(2, 1), sin(2, 1), x(3, 2);
  EXPECT_THROW(rotary(x.view(), x.view(), cos.view(), sin.view(),
                      {.time = 3, .heads = 1, .head_dim = 2}, {}),
               CheckFailure);
}

TEST(Embedding, EqualsItsDefinition) {
  for (const std::int64_t width : {1, 16, 50}) {
    const Array table = test::random_array(23, width, 1, Values::kNonFinite);
    const Array dout = test::random_array(200, width, 2, Values::kFinite);
    const Array start = test::random_array(23, width, 4);
    const std::vector<int> ids = test::random_ids(200, 20, 3);
    for (const DType dtype : kStorages) {
      Array expected(200, width), expected_gradient = start;
      reference::embedding(table.view(), ids, expected.view(), dtype);
      reference::embedding_backward(dout.view(), ids, expected_gradient.view(), dtype);
      test::at_every_level([&] {
        Array out(200, width), gradient = start;
        embedding(table.view(), ids, out.view(), dtype);
        embedding_backward(dout.view(), ids, gradient.view(), dtype);
        EXPECT_TRUE(test::same_bits(out, expected));
        EXPECT_TRUE(test::same_bits(gradient, expected_gradient));
      });
    }
  }
}

TEST(GatherRows, CopiesEveryBitOfTheRowsAskedFor) {
  const Array from = test::random_array(70, 33, 1, Values::kNonFinite);
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{65}}) {
    std::vector<std::int64_t> rows(count);
    for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<std::int64_t>(i * 29 % 70);
    test::at_every_level([&] {
      Array out(static_cast<std::int64_t>(count), 33);
      gather_rows(from.view(), rows, out.view());
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(std::memcmp(out.view().row(static_cast<std::int64_t>(i)),
                              from.view().row(rows[i]), 33 * sizeof(float)),
                  0)
            << i;
    });
  }
  Array out(1, 33);
  for (const std::int64_t row : {std::int64_t{-2}, std::int64_t{70}})
    EXPECT_THROW(gather_rows(from.view(), std::vector{row}, out.view()), CheckFailure);
}

TEST(Embedding, AnIdOutsideTheTableFailsTheCheck) {
  Array table(3, 2), out(1, 2);
  for (const int id : {-1, 3}) {
    EXPECT_THROW(embedding(table.view(), std::vector{id}, out.view(), DType::kFp32), CheckFailure);
    EXPECT_THROW(embedding_backward(out.view(), std::vector{id}, table.view(), DType::kFp32),
                 CheckFailure);
  }
}

TEST(RmsNorm, NormsOfViewsThatDisagreeFailTheCheck) {
  Array x(4, 6), out(4, 6), fewer(3, 6), narrower(4, 5);
  std::vector<float> rstd(4), few(3);
  const auto t = DType::kFp32;
  EXPECT_THROW(rms_norm(x.view(), fewer.view(), {}, t), CheckFailure);
  EXPECT_THROW(rms_norm(x.view(), narrower.view(), {}, t), CheckFailure);
  EXPECT_THROW(rms_norm(x.view(), out.view(), few, t), CheckFailure);
  EXPECT_THROW(rms_norm_backward(x.view(), fewer.view(), rstd, out.view(), t), CheckFailure);
  EXPECT_THROW(rms_norm_backward(fewer.view(), x.view(), rstd, out.view(), t), CheckFailure);
  EXPECT_THROW(rms_norm_backward(x.view(), x.view(), rstd, fewer.view(), t), CheckFailure);
  EXPECT_THROW(rms_norm_backward(x.view(), x.view(), few, out.view(), t), CheckFailure);
}

TEST(Embedding, EmbeddingsAndGathersThatDisagreeFailTheCheck) {
  Array from(5, 4), out(2, 4), narrower(2, 3), more(3, 4);
  const std::vector<std::int64_t> rows = {1, 4};
  EXPECT_NO_THROW(gather_rows(from.view(), rows, out.view()));
  EXPECT_THROW(gather_rows(from.view(), rows, narrower.view()), CheckFailure);
  EXPECT_THROW(gather_rows(from.view(), rows, more.view()), CheckFailure);
  const std::vector<int> ids = {1, 4};
  EXPECT_THROW(embedding(from.view(), ids, narrower.view(), DType::kFp32), CheckFailure);
  EXPECT_THROW(embedding(from.view(), ids, more.view(), DType::kFp32), CheckFailure);
  EXPECT_THROW(embedding_backward(narrower.view(), ids, from.view(), DType::kFp32), CheckFailure);
  EXPECT_THROW(embedding_backward(more.view(), ids, from.view(), DType::kFp32), CheckFailure);
}

}  // namespace
}  // namespace nb::kernels
