// Soft-cap and cross-entropy, step by step on rows of logits.

#include "model/kernels/cap_scalars.hpp"
#include "model/kernels/self_test/cases.hpp"

namespace nb::kernels::self_test {
namespace {

using inner::CapScalars;
using inner::Table;

CapScalars scalars(float cap, int storage, bool eager, bool rounds_capped, bool multiplies) {
  return {.cap = cap,
          .inverse = cap > 0.0f ? 1.0f / cap : 0.0f,
          .multiplies = multiplies,
          .eager = eager,
          .rounds_steps = eager,
          .rounds_capped = rounds_capped,
          .storage = storage};
}

// 128 logits whose t needs no care at once, a group of larger ones, and a group that is not full.
std::vector<float> ordinary_logits() {
  std::vector<float> x = bf16_numbers(ordinary_values(128 + 16 + 5, 50));
  for (std::size_t i = 128; i < x.size(); ++i) x[i] *= 16.0f;
  return x;
}

// Strips as a caller cuts them: whole groups, then the rest.
void add_row(const Table& t, const CapScalars& s, const std::vector<float>& logits, Results& r) {
  const auto n = static_cast<std::int64_t>(logits.size());
  constexpr std::int64_t kStrip = 128;
  std::vector<float> z = logits, values = logits;
  t.softcap(logits.data(), n, s, z.data());
  r.add("softcap", z);

  inner::CapRow row = fresh_row(s);
  t.cap_logits(values.data(), kStrip, s, &row);
  r.add("cap_logits", std::vector<float>(row.best, row.best + 16));
  t.cap_logits(values.data() + kStrip, n - kStrip, s, &row);
  r.add("cap_logits", values);
  r.add("cap_logits", std::vector<float>(row.best, row.best + 16));
  r.claim("cap_logits", row.is_ordinary);
  const float max = t.largest_capped(row);
  r.add("largest_capped", {max});
  r.add("capped_value", {t.capped_value(values[0], s), t.capped_value(values[140], s)});
  r.add("first_capped", {static_cast<float>(t.first_capped(values.data(), n, s, max))});
  const float sum = t.capped_sum(values.data(), n, s, max, row.is_ordinary);
  r.add("capped_sum", {sum, t.capped_sum(values.data(), n, s, max, false)});

  const inner::GradientScalars gradient = {max, sum, 0.01f};
  for (const std::int64_t target : {std::int64_t{3}, n - 1, n + 7}) {
    std::vector<float> some = values;
    t.capped_gradient(some.data(), n, target, gradient, s,
                      row.is_ordinary && has_ordinary_gradient(gradient));
    r.add("capped_gradient", std::move(some));
  }
}

}  // namespace

Results cross_entropy_results(const Table& table) {
  Results r;
  const std::vector<float> ordinary = ordinary_logits(),
                           hard = bf16_numbers(mixed_values(128 + 16 + 5, 51));
  using inner::kRoundBf16, inner::kRoundFp16, inner::kRoundNone;
  CapScalars in_fp32 = scalars(15.0f, kRoundBf16, true, false, false);
  in_fp32.rounds_steps = false;
  for (const CapScalars& s : {
           scalars(15.0f, kRoundNone, false, false, false),
           scalars(15.0f, kRoundBf16, true, false, true),
           scalars(15.0f, kRoundBf16, true, false, false),
           scalars(15.0f, kRoundBf16, false, true, false),
           scalars(15.0f, kRoundBf16, false, false, false),
           in_fp32,
           scalars(30.0f, kRoundFp16, true, false, false),
           scalars(0.0f, kRoundBf16, false, true, false),
           scalars(0.0f, kRoundNone, false, false, false),
           scalars(0x1p-70f, kRoundNone, false, false, false),
       }) {
    add_row(table, s, ordinary, r);
    add_row(table, s, hard, r);
  }
  return r;
}

}  // namespace nb::kernels::self_test
