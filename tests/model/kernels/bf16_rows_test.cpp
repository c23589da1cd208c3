// Kernels between the products, with operands and results as bf16: the bits of their definitions.
#include <gtest/gtest.h>

#include "harness/base/check.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/reference/attention.hpp"
#include "model/kernels/reference/elementwise.hpp"
#include "model/kernels/reference/rows.hpp"
#include "model/kernels/residual.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary_norm.hpp"
#include "tests/model/kernels/both_forms.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::BothForms;
using test::holds;
using test::Values;

constexpr Values kHard[] = {Values::kBf16, Values::kFinite, Values::kNonFinite};
constexpr std::int64_t kBf16Widths[] = {1, 15, 16, 17, 33, 128, 131, 290, 1000};
constexpr bool kForms[] = {false, true};
constexpr DType kBf16 = DType::kBf16;

TEST(Bf16Rows, RmsNormAndItsGradientEqualTheirDefinitions) {
  for (const std::int64_t width : kBf16Widths) {
    for (const Values values : kHard) {
      SCOPED_TRACE(testing::Message() << width << " columns");
      BothForms x(9, width, 1, values), dy(9, width, 2, values), residual(9, width, 3, values);
      Array out(9, width), gradient(9, width), total(9, width);
      std::vector<float> rstd(9);
      reference::rms_norm(x.fp32.view(), out.view(), rstd, kBf16);
      reference::rms_norm_backward(dy.fp32.view(), x.fp32.view(), rstd, gradient.view(), kBf16);
      reference::add(residual.fp32.view(), gradient.view(), total.view(), kBf16);
      test::at_every_level([&] {
        for (const bool from : kForms) {
          for (const bool to : kForms) {
            SCOPED_TRACE(testing::Message() << "from bf16 " << from << ", to bf16 " << to);
            BothForms y(9, width, 4, Values::kBf16);
            std::vector<float> own_rstd(9);
            rms_norm(x.from(from), y.to(to), own_rstd, kBf16);
            EXPECT_TRUE(holds(y, to, out.view()));
            EXPECT_TRUE(test::same_bits(own_rstd, rstd));
            for (const bool of : kForms) {
              BothForms dx(9, width, 5, Values::kBf16), sum = residual;
              rms_norm_backward(dy.from(of), x.from(from), rstd, dx.to(to), kBf16);
              EXPECT_TRUE(holds(dx, to, gradient.view()));
              rms_norm_backward_add(dy.from(of), x.from(from), rstd, sum.to(to), kBf16);
              EXPECT_TRUE(holds(sum, to, total.view()));
            }
          }
        }
      });
    }
  }
}

TEST(Bf16Rows, RotaryAndTheNormOfEachHeadEqualTheirDefinitions) {
  for (const std::int64_t head_dim : {2, 6, 40, 64, 128}) {
    const std::int64_t cols = 3 * head_dim;
    const RotaryShape shape{.time = 5, .heads = 3, .head_dim = head_dim, .first_position = 2};
    Array cos(7, head_dim / 2), sin(7, head_dim / 2);
    rotary_tables(7, head_dim, kBf16, cos.view(), sin.view());
    for (const bool eager : kForms) {
      for (const Values values : kHard) {
        SCOPED_TRACE(testing::Message() << "heads of " << head_dim << ", eager " << eager);
        const PointwisePolicy policy{.storage = kBf16, .eager = eager};
        BothForms x(10, cols, 1, values), dy(10, cols, 2, values);
        Array rotated(10, cols), out(10, cols), dx(10, cols);
        std::vector<float> rstd(30);
        rotary_norm(x.fp32.view(), rotated.view(), out.view(), rstd, cos.view(), sin.view(), shape,
                    policy);
        rotary_norm_backward(dy.fp32.view(), rotated.view(), rstd, dx.view(), cos.view(),
                             sin.view(), shape, policy);
        BothForms before(rotated);
        test::at_every_level([&] {
          for (const bool from : kForms) {
            for (const bool to : kForms) {
              BothForms kept(10, cols, 3, Values::kBf16), y = kept, alone = kept, back = kept;
              std::vector<float> r(30);
              rotary_norm(x.from(from), kept.to(to), y.to(to), r, cos.view(), sin.view(), shape,
                          policy);
              EXPECT_TRUE(holds(kept, to, rotated.view()));
              EXPECT_TRUE(holds(y, to, out.view()));
              EXPECT_TRUE(test::same_bits(r, rstd));
              rotary_norm(x.from(from), {}, alone.to(to), {}, cos.view(), sin.view(), shape,
                          policy);
              EXPECT_TRUE(holds(alone, to, out.view()));
              rotary_norm_backward(dy.from(from), before.from(to), rstd, back.to(to), cos.view(),
                                   sin.view(), shape, policy);
              EXPECT_TRUE(holds(back, to, dx.view()));
            }
          }
        });
      }
    }
  }
}

// Of a block in the middle of larger matrices.
TEST(Bf16Rows, SumsAndBlocksOfProductsEqualTheirDefinition) {
  constexpr std::int64_t kRow = 2, kCol = 3, kRows = 5;
  for (const std::int64_t cols : {1, 15, 16, 17, 128, 131, 290}) {
    for (const Values values : kHard) {
      SCOPED_TRACE(testing::Message() << cols << " columns");
      BothForms a(kRow + kRows + 1, kCol + cols + 2, 1, values), product(kRows, cols, 2, values);
      const ProductBlock block{kRow, kRows, kCol, cols, product.fp32.view()};
      Array placed(kRow + kRows + 1, kCol + cols + 2), sum(kRow + kRows + 1, kCol + cols + 2);
      for (std::int64_t i = 0; i < kRows; ++i) {
        std::copy_n(product.fp32.view().row(i), cols, placed.view().row(kRow + i) + kCol);
      }
      reference::add(a.fp32.view(), placed.view(), sum.view(), kBf16);
      Array inside = a.fp32, kept = a.fp32;
      for (std::int64_t i = kRow; i < kRow + kRows; ++i) {
        std::copy_n(sum.view().row(i) + kCol, cols, inside.view().row(i) + kCol);
        std::copy_n(placed.view().row(i) + kCol, cols, kept.view().row(i) + kCol);
      }
      test::at_every_level([&] {
        BothForms whole = a, some = a, memory = a;
        add(a.from(true), placed.view(), whole.to(true), kBf16);
        EXPECT_TRUE(holds(whole, true, sum.view()));
        add_block(some.from(true), block, some.to(true), kBf16);
        EXPECT_TRUE(holds(some, true, inside.view()));
        keep_block(block, memory.two_bytes());
        EXPECT_TRUE(holds(memory, true, kept.view()));
      });
    }
  }
}

void expect_attention(const AttentionShape& s, Values values) {
  SCOPED_TRACE(testing::Message() << "B " << s.batch << " queries " << s.queries << " H " << s.heads
                                  << "/" << s.kv_heads << " D " << s.head_dim);
  const std::int64_t wide = s.heads * s.head_dim, narrow = s.kv_heads * s.head_dim;
  const std::int64_t rows = s.batch * s.queries;
  const MatmulPolicy policy;
  BothForms q(rows, wide, 1, values), k(rows, narrow, 2, values), v(rows, narrow, 3, values),
      dout(rows, wide, 4, values);
  Array out(rows, wide), dq(rows, wide), dk(rows, narrow), dv(rows, narrow);
  const auto saved = static_cast<std::size_t>(s.batch * s.heads * s.queries);
  std::vector<float> max(saved), sum(saved);
  reference::attention(q.fp32.view(), k.fp32.view(), v.fp32.view(), out.view(), {max, sum}, s,
                       policy);
  reference::attention_backward(dout.fp32.view(), q.fp32.view(), k.fp32.view(), v.fp32.view(),
                                out.view(), max, sum, dq.view(), dk.view(), dv.view(), s, policy);
  BothForms before(out);
  test::at_every_level([&] {
    BothForms y(rows, wide, 5, Values::kBf16), own_dq = y, own_dk(rows, narrow, 6, Values::kBf16),
                                               own_dv = own_dk;
    std::vector<float> own_max(saved), own_sum(saved);
    attention(q.two_bytes(), k.two_bytes(), v.two_bytes(), y.two_bytes(), {own_max, own_sum}, s,
              policy);
    EXPECT_TRUE(holds(y, true, out.view())) << "out";
    EXPECT_TRUE(test::same_bits(own_max, max));
    EXPECT_TRUE(test::same_bits(own_sum, sum));
    attention_backward(dout.two_bytes(), q.two_bytes(), k.two_bytes(), v.two_bytes(),
                       before.two_bytes(), max, sum, own_dq.two_bytes(), own_dk.two_bytes(),
                       own_dv.two_bytes(), s, policy);
    EXPECT_TRUE(holds(own_dq, true, dq.view())) << "dq";
    EXPECT_TRUE(holds(own_dk, true, dk.view())) << "dk";
    EXPECT_TRUE(holds(own_dv, true, dv.view())) << "dv";
  });
}

TEST(Bf16Rows, AttentionAndItsGradientEqualTheirDefinitions) {
  for (const Values values : kHard) {
    for (const auto& [time, head_dim] :
         {std::pair{1, 1}, std::pair{2, 5}, std::pair{17, 16}, std::pair{33, 31}, std::pair{48, 64},
          std::pair{129, 20}, std::pair{257, 16}}) {
      expect_attention({.batch = 2,
                        .queries = time,
                        .keys = time,
                        .heads = 2,
                        .kv_heads = 2,
                        .head_dim = head_dim},
                       values);
      expect_attention({.batch = 1,
                        .queries = time,
                        .keys = time,
                        .heads = 6,
                        .kv_heads = 2,
                        .head_dim = head_dim},
                       values);
    }
  }
}

TEST(Bf16Rows, Bf16ThatThePolicyHasNotFailsTheCheck) {
  BothForms x(4, 6, 1, Values::kBf16), y(4, 6, 2, Values::kBf16);
  std::vector<float> rstd(4);
  for (const DType storage : {DType::kFp32, DType::kFp16}) {
    EXPECT_THROW(rms_norm(x.two_bytes(), y.fp32.view(), {}, storage), CheckFailure);
    EXPECT_THROW(rms_norm(x.fp32.view(), y.two_bytes(), {}, storage), CheckFailure);
    EXPECT_THROW(rms_norm_backward(x.two_bytes(), x.fp32.view(), rstd, y.fp32.view(), storage),
                 CheckFailure);
    EXPECT_THROW(rms_norm_backward(x.fp32.view(), x.fp32.view(), rstd, y.two_bytes(), storage),
                 CheckFailure);
    EXPECT_THROW(add(x.two_bytes(), x.fp32.view(), y.two_bytes(), storage), CheckFailure);
  }
  EXPECT_THROW(add(x.two_bytes(), x.fp32.view(), y.fp32.view(), kBf16), CheckFailure);
  EXPECT_THROW(add(x.fp32.view(), x.fp32.view(), y.two_bytes(), kBf16), CheckFailure);
  Array cos(4, 1), sin(4, 1);
  const RotaryShape turns{.time = 4, .heads = 3, .head_dim = 2};
  EXPECT_THROW(rotary_norm(x.two_bytes(), {}, y.two_bytes(), {}, cos.view(), sin.view(), turns,
                           {.storage = DType::kFp32}),
               CheckFailure);
  std::vector<float> each(12);
  EXPECT_THROW(rotary_norm_backward(x.two_bytes(), x.two_bytes(), each, y.two_bytes(), cos.view(),
                                    sin.view(), turns, {.storage = DType::kFp32}),
               CheckFailure);
  const AttentionShape s{
      .batch = 1, .queries = 4, .keys = 4, .heads = 3, .kv_heads = 3, .head_dim = 2};
  const MatmulPolicy fp32{.inputs = DType::kFp32, .output = DType::kFp32};
  const MatmulPolicy fp32_results{.inputs = DType::kBf16, .output = DType::kFp32};
  EXPECT_THROW(attention(x.two_bytes(), x.two_bytes(), x.two_bytes(), y.two_bytes(), {}, s, fp32),
               CheckFailure);
  EXPECT_THROW(
      attention(x.two_bytes(), x.two_bytes(), x.two_bytes(), y.two_bytes(), {}, s, fp32_results),
      CheckFailure);
}

}  // namespace
}  // namespace nb::kernels
