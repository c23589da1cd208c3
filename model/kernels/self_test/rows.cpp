// Sums, norms and rotary embedding of rows.
#include <cmath>

#include "model/kernels/self_test/cases.hpp"

namespace nb::kernels::self_test {
namespace {

using inner::Table;

void add_sums(const Table& t, Results& r) {
  const std::vector<float> x = tame(finite_values(kCount, 11)), y = tame(finite_values(kCount, 12));
  for (const std::int64_t n : {kCount, std::int64_t{64}, std::int64_t{5}}) {
    r.add("sum_of_squares", {t.sum_of_squares(x.data(), n)});
    r.add("dot", {t.dot(x.data(), y.data(), n)});
  }
}

void add_searches(const Table& t, Results& r) {
  const std::vector<float> x = ordinary_values(kCount, 13);
  r.claim("all_below", t.all_below(x.data(), kCount, 5.0f));
  for (const std::size_t place : {std::size_t{0}, std::size_t{140}, x.size() - 1}) {
    for (const float bad : {5.0f, -INFINITY, NAN}) {
      std::vector<float> some = x;
      some[place] = bad;
      r.claim("all_below", !t.all_below(some.data(), kCount, 5.0f));
    }
  }
  std::vector<float> some = hard_values(kCount, 14);
  for (float& v : some) v = v < 100.0f || std::isnan(v) ? v : 1.0f;
  const auto add = [&] {
    r.add("first_largest", {static_cast<float>(t.first_largest(some.data(), kCount))});
  };
  add();
  for (const std::size_t place : {some.size() - 1, std::size_t{260}, std::size_t{201}}) {
    some[place] = 200.0f;
    add();
  }
  some.assign(some.size(), NAN);
  add();
  some[205] = -INFINITY;
  add();
}

// 128 values at once, a group alone, and one that is not full.
constexpr std::int64_t kWidth = 128 + 16 + 6, kStride = kWidth + 3, kRows = 3;

// An ordinary row, one with denormals and zeros, one with NaN.
std::vector<float> rows(std::uint32_t seed) {
  std::vector<float> values = ordinary_values(kRows * kStride, seed);
  const std::vector<float> small = tame(finite_values(kStride, seed + 1)),
                           special = hard_values(kStride, seed + 2);
  std::copy(small.begin(), small.end(), values.begin() + kStride);
  std::copy(special.begin(), special.end(), values.begin() + 2 * kStride);
  return values;
}

// Rows to read or to write, as fp32 or as bf16.
struct Rows {
  std::vector<float> fp32;
  std::vector<std::uint16_t> two_bytes;
  bool is_bf16;

  explicit Rows(std::uint32_t seed)
      : fp32(bf16_numbers(rows(seed))), two_bytes(bf16(fp32)), is_bf16(false) {}
  Rows as(bool in_two_bytes) const {
    Rows some = *this;
    some.is_bf16 = in_two_bytes;
    return some;
  }
  template <class View>
  View view() {
    if (is_bf16) return {nullptr, two_bytes.data(), kStride};
    return {fp32.data(), nullptr, kStride};
  }
  std::vector<float> values() const { return is_bf16 ? numbers(two_bytes) : fp32; }
};

class Norms {
 public:
  Norms(const Table& table, Results& results) : t_(table), r_(results) {}

  void forward(int rounding, bool x_bf16, bool out_bf16, Rsqrt rsqrt = Rsqrt::kPrecise) {
    Rows x = x_.as(x_bf16), out = out_.as(out_bf16);
    float rstd[kRows] = {};
    t_.rms_norm_rows({.x = x.view<inner::ConstAnyRows>(),
                      .out = out.view<inner::AnyRows>(),
                      .rstd = rstd,
                      .rows = kRows,
                      .n = kWidth,
                      .epsilon = 1e-6f,
                      .rsqrt = rsqrt,
                      .rounding = rounding});
    r_.add("rms_norm_rows", out.values());
    r_.add("rms_norm_rows", std::vector<float>(rstd, rstd + kRows));
  }
  void backward(int rounding, bool dy_bf16, bool x_bf16, bool dx_bf16, bool accumulates) {
    Rows dy = dy_.as(dy_bf16), x = x_.as(x_bf16), dx = out_.as(dx_bf16);
    const float rstd[kRows] = {0.5f, 0.75f, 1.5f};
    t_.rms_norm_backward_rows({.dy = dy.view<inner::ConstAnyRows>(),
                               .x = x.view<inner::ConstAnyRows>(),
                               .rstd = rstd,
                               .dx = dx.view<inner::AnyRows>(),
                               .rows = kRows,
                               .n = kWidth,
                               .accumulates = accumulates,
                               .rounding = rounding});
    r_.add("rms_norm_backward_rows", dx.values());
  }

 private:
  const Table& t_;
  Results& r_;
  const Rows x_ = Rows(20), out_ = Rows(30), dy_ = Rows(40);
};

void add_norms(const Table& t, Results& r) {
  const std::vector<float> x = mixed_values(kCount, 15), dy = mixed_values(kCount, 16);
  std::vector<float> out(x.size());
  Norms norms(t, r);
  for (const int rounding : kAllRoundings) {
    t.rms_norm(x.data(), kCount, 0.7f, out.data(), rounding);
    r.add("rms_norm", out);
    t.rms_norm_backward(dy.data(), x.data(), kCount, 0.7f, 0.01f, out.data(), rounding);
    r.add("rms_norm_backward", out);
    if (rounding == inner::kRoundBf16) continue;
    norms.forward(rounding, false, false);
    norms.forward(rounding, false, false, Rsqrt::kApproximate);
    norms.backward(rounding, false, false, false, rounding != inner::kRoundNone);
  }
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      norms.forward(inner::kRoundBf16, a, b);
      for (const bool c : {false, true}) {
        for (const bool accumulates : {false, true}) {
          norms.backward(inner::kRoundBf16, a, b, c, accumulates);
        }
      }
    }
  }
}

void add_rotary(const Table& t, Results& r) {
  constexpr std::int64_t kHalf = 21;  // a group and a few
  const std::vector<float> x = hard_values(2 * kHalf, 17);
  std::vector<float> cos = ordinary_values(kHalf, 18), sin = ordinary_values(kHalf, 19);
  for (float& v : cos) v *= 0.25f;
  for (float& v : sin) v *= 0.25f;
  std::vector<float> out(x.size());
  for (const int rounding : kAllRoundings) {
    for (const bool eager : {false, true}) {
      t.rotary(x.data(), cos.data(), sin.data(), kHalf, eager ? -1.0f : 1.0f, out.data(), rounding,
               eager);
      r.add("rotary", out);
    }
  }
}

}  // namespace

Results row_results(const Table& table) {
  Results r;
  add_sums(table, r);
  add_searches(table, r);
  add_norms(table, r);
  add_rotary(table, r);
  return r;
}

}  // namespace nb::kernels::self_test
