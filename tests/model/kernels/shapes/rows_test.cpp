// Kernels that work row by row, at every level and width: norm, rotary, residual, relu², embedding,
// soft-cap and cross-entropy, scoring.
#include "model/kernels/reference/rows.hpp"

#include <gtest/gtest.h>

#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/embedding.hpp"
#include "model/kernels/reference/cross_entropy.hpp"
#include "model/kernels/reference/elementwise.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/kernels/residual.hpp"
#include "tests/model/kernels/shapes/edges.hpp"
#include "tests/model/kernels/shapes/lists.hpp"

namespace nb::kernels {
namespace {

using test::Array;

constexpr DType kStorages[] = {DType::kBf16, DType::kFp32, DType::kFp16};

Array input(const test::RowShape& s, std::uint64_t seed, std::size_t turn) {
  return turn % 3 == 0 ? test::random_array(s.rows, s.cols, seed)
                       : test::edged_array(s.rows, s.cols, seed, turn + seed);
}

TEST(RowShapes, NormsResidualsAndReluEqualTheirDefinitions) {
  std::size_t turn = 0;
  for (const test::RowShape& s : test::thinned(test::row_shapes())) {
    for (int i = 0; i < 6; ++i, ++turn) {
      SCOPED_TRACE(testing::Message() << s.rows << " x " << s.cols << " turn " << turn);
      const DType storage = kStorages[turn % 3];
      const Array x = input(s, 1, turn), y = input(s, 2, turn);
      const auto rows = static_cast<std::size_t>(s.rows);
      std::vector<float> rstd(rows);
      Array norm(s.rows, s.cols), dnorm = norm, sum = norm, relu = norm, drelu = norm;
      reference::rms_norm(x.view(), norm.view(), rstd, storage);
      reference::rms_norm_backward(y.view(), x.view(), rstd, dnorm.view(), storage);
      reference::add(x.view(), y.view(), sum.view(), storage);
      reference::relu_squared(x.view(), relu.view(), storage);
      reference::relu_squared_backward(y.view(), x.view(), drelu.view(), storage);
      test::at_every_level([&] {
        Array out(s.rows, s.cols);
        std::vector<float> own_rstd(rows);
        rms_norm(x.view(), out.view(), own_rstd, storage);
        EXPECT_TRUE(test::same_bits(out, norm)) << "rms_norm";
        EXPECT_TRUE(test::same_bits(own_rstd, rstd)) << "rstd";
        rms_norm_backward(y.view(), x.view(), rstd, out.view(), storage);
        EXPECT_TRUE(test::same_bits(out, dnorm)) << "rms_norm_backward";
        add(x.view(), y.view(), out.view(), storage);
        EXPECT_TRUE(test::same_bits(out, sum)) << "add";
        relu_squared(x.view(), out.view(), storage);
        EXPECT_TRUE(test::same_bits(out, relu)) << "relu_squared";
        relu_squared_backward(y.view(), x.view(), out.view(), storage);
        EXPECT_TRUE(test::same_bits(out, drelu)) << "relu_squared_backward";
      });
      if (HasFailure()) return;
    }
  }
}

TEST(RowShapes, RotaryEqualsItsDefinition) {
  std::size_t turn = 0;
  for (const test::RotaryCase& c : test::thinned(test::rotary_cases())) {
    const std::int64_t positions = c.first_position + c.time + 1, rows = c.sequences * c.time;
    const RotaryShape shape{.time = c.time,
                            .heads = c.heads,
                            .head_dim = c.head_dim,
                            .first_position = c.first_position};
    Array cos(positions, c.head_dim / 2), sin(positions, c.head_dim / 2);
    rotary_tables(positions, c.head_dim, DType::kBf16, cos.view(), sin.view());
    std::vector<std::int64_t> at(static_cast<std::size_t>(rows));
    for (std::size_t r = 0; r < at.size(); ++r)
      at[r] = c.first_position + static_cast<std::int64_t>(r) % c.time;
    for (const PointwisePolicy& policy : test::pointwise_policies()) {
      SCOPED_TRACE(testing::Message()
                   << "D " << c.head_dim << " rows " << rows << " " << test::text(policy));
      const Array x = input({rows, c.heads * c.head_dim}, 1, turn++);
      Array forward(rows, c.heads * c.head_dim), backward = forward;
      reference::rotary(x.view(), forward.view(), cos.view(), sin.view(), shape, policy);
      reference::rotary_backward(x.view(), backward.view(), cos.view(), sin.view(), shape, policy);
      test::at_every_level([&] {
        Array y(rows, c.heads * c.head_dim), ragged = y, in_place = x;
        rotary(x.view(), y.view(), cos.view(), sin.view(), shape, policy);
        EXPECT_TRUE(test::same_bits(y, forward)) << "rotary";
        rotary(x.view(), at, ragged.view(), cos.view(), sin.view(), c.head_dim, policy);
        EXPECT_TRUE(test::same_bits(ragged, forward)) << "rotary by positions";
        rotary_backward(in_place.view(), in_place.view(), cos.view(), sin.view(), shape, policy);
        for (std::int64_t r = 0; r < rows; ++r)
          EXPECT_TRUE(
              test::same_bits(std::span<const float>(in_place.view().row(r),
                                                     static_cast<std::size_t>(x.view().cols)),
                              std::span<const float>(backward.view().row(r),
                                                     static_cast<std::size_t>(x.view().cols))))
              << "rotary_backward in place, row " << r;
      });
      if (HasFailure()) return;
    }
  }
}

TEST(RowShapes, EmbeddingsEqualTheirDefinition) {
  std::size_t turn = 0;
  for (const test::RowShape& s : test::thinned(test::row_shapes())) {
    // Tokens that come once, often and never; the first and the last row of the table.
    const Array table = input({19, s.cols}, 1, turn), start = input({19, s.cols}, 2, turn + 1);
    const Array dout = input({s.rows, s.cols}, 3, turn + 2);
    std::vector<int> ids = test::random_ids(static_cast<std::size_t>(s.rows), 7, 4);
    if (s.rows > 1) ids.front() = 18, ids.back() = 0;
    const DType dtype = kStorages[turn++ % 3];
    Array expected(s.rows, s.cols), expected_gradient = start;
    reference::embedding(table.view(), ids, expected.view(), dtype);
    reference::embedding_backward(dout.view(), ids, expected_gradient.view(), dtype);
    test::at_every_level([&] {
      Array out(s.rows, s.cols), gradient = start;
      embedding(table.view(), ids, out.view(), dtype);
      EXPECT_TRUE(test::same_bits(out, expected)) << s.rows << " x " << s.cols;
      embedding_backward(dout.view(), ids, gradient.view(), dtype);
      EXPECT_TRUE(test::same_bits(gradient, expected_gradient)) << s.rows << " x " << s.cols;
    });
  }
}

struct Losses {
  std::vector<float> losses, row_max, row_sum, log_probs;
  std::vector<int> argmax;
  Array dlogits, capped;
};
Losses run(bool naive, const Array& logits, const std::vector<int>& targets,
           const CrossEntropySettings& s) {
  const ConstMatrix x = logits.view();
  const auto n = static_cast<std::size_t>(x.rows);
  Losses r{std::vector<float>(n), std::vector<float>(n), std::vector<float>(n),
           std::vector<float>(n), std::vector<int>(n),   Array(x.rows, x.cols),
           Array(x.rows, x.cols)};
  const CrossEntropySaved saved{r.row_max, r.row_sum};
  (naive ? reference::softcap_cross_entropy : softcap_cross_entropy)(x, targets, r.losses, saved,
                                                                     s);
  (naive ? reference::softcap_cross_entropy_backward : softcap_cross_entropy_backward)(
      x, targets, r.row_max, r.row_sum, 0.01f, r.dlogits.view(), s);
  (naive ? reference::softcap : softcap)(x, r.capped.view(), s);
  (naive ? reference::score_targets : score_targets)(x, targets, r.log_probs, r.argmax, s);
  return r;
}

TEST(RowShapes, CrossEntropyEqualsItsDefinition) {
  std::size_t turn = 0;
  for (const test::RowShape& s : test::thinned(test::vocabulary_shapes())) {
    for (const PointwisePolicy& policy : test::pointwise_policies()) {
      Array logits = input(s, 1, turn);
      for (float& x : logits.memory()) x *= 4.0f;
      std::vector<int> targets =
          test::random_ids(static_cast<std::size_t>(s.rows), static_cast<int>(s.cols), 2);
      if (s.rows > 2) targets[1] = kIgnoreTarget, targets.back() = static_cast<int>(s.cols) - 1;
      const CrossEntropySettings settings{.softcap = turn++ % 4 == 0 ? 0.0f : 15.0f,
                                          .pointwise = policy};
      SCOPED_TRACE(testing::Message() << s.rows << " x " << s.cols << " " << test::text(policy)
                                      << " cap " << settings.softcap);
      const Losses expected = run(true, logits, targets, settings);
      test::at_every_level([&] {
        const Losses actual = run(false, logits, targets, settings);
        EXPECT_TRUE(test::same_bits(actual.losses, expected.losses)) << "losses";
        EXPECT_TRUE(test::same_bits(actual.row_max, expected.row_max)) << "row_max";
        EXPECT_TRUE(test::same_bits(actual.row_sum, expected.row_sum)) << "row_sum";
        EXPECT_TRUE(test::same_bits(actual.dlogits, expected.dlogits)) << "dlogits";
        EXPECT_TRUE(test::same_bits(actual.capped, expected.capped)) << "capped";
        EXPECT_TRUE(test::same_bits(actual.log_probs, expected.log_probs)) << "log_probs";
        EXPECT_EQ(actual.argmax, expected.argmax);
      });
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace nb::kernels
