// Compares a level with the scalar one on fixed hard cases before it is used: miscompiled or
// misreported instructions must not change a number. Small on purpose (well under a millisecond a
// level, scalar aside).
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "model/kernels/inner/dispatch.hpp"

namespace nb::kernels::inner {
namespace {

// Ordinary values with the edges between them: zeros, denormals, the floor, infinities, NaN.
std::vector<float> hard_values(std::size_t count, std::uint32_t seed, bool finite) {
  static constexpr float kEdges[] = {0.0f,        -0.0f,       0x1p-149f,   -0x1p-126f, 0x1p-56f,
                                     0x1.fep-57f, 0x1.ffp-57f, -0x1p-57f,   1.0f,       0x1.8p-133f,
                                     65504.0f,    65520.0f,    0x1.fep127f, 88.8f,      -103.9f,
                                     0.625f,      INFINITY,    NAN};
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    const std::uint32_t pick = seed >> 24;
    if (pick < 24) {
      value = kEdges[pick % (finite ? 16 : 18)];
    } else {
      const float uniform = static_cast<float>(static_cast<std::int32_t>(seed << 4)) * 0x1p-31f;
      value = pick % 8 == 0 ? uniform * 0x1p-60f : uniform * 4.0f;
    }
  }
  return values;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool equal =
        std::isnan(a[i]) ? std::isnan(b[i])
                         : std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
    if (!equal) return false;
  }
  return true;
}

// Products of hard operands: rows × panels, then panels × panels.
std::vector<float> gemm_product(const Gemm& gemm, int rounding, bool swaps) {
  constexpr int kRows = 4, kCols = 16, kDepth = 37, kSteps = kDepth + 1;
  const std::vector<float> a = hard_values(std::size_t{kRows} * kDepth, 1, true),
                           b = hard_values(std::size_t{kCols} * kDepth, 2, true);
  const std::int64_t steps =
      gemm.values_per_step == 2 || swaps ? kSteps / gemm.values_per_step : kDepth;
  std::vector<std::uint32_t> rows(std::size_t{kRows} * kGemmRowWords);
  const std::int64_t panel = steps * gemm.cols;
  std::vector<std::uint32_t> left(static_cast<std::size_t>(panel)), right(left.size()),
      turned(left.size());
  gemm.pack_rows(a.data(), kDepth, kRows, kDepth, steps, rounding, swaps, rows.data());
  gemm.pack_panels(a.data(), kRows, false, kRows, kDepth, steps, rounding, swaps, panel,
                   left.data());
  gemm.pack_panels(b.data(), kDepth, true, kCols, kDepth, steps, rounding, swaps, panel,
                   right.data());
  gemm.pack_panels(b.data(), kCols, false, kCols, kDepth, steps, rounding, swaps, panel,
                   turned.data());
  std::vector<float> c(std::size_t{kRows} * kCols, 0.0f), d = c;
  GemmTile tile = {.steps = steps,
                   .a = rows.data(),
                   .b = right.data(),
                   .b_panel = panel,
                   .start = nullptr,
                   .start_stride = kCols,
                   .add = nullptr,
                   .add_stride = kCols,
                   .out = c.data(),
                   .out_stride = kCols,
                   .finish = kFinishRaw};
  gemm.tile(kRows, 1, tile);
  tile.a = left.data();
  tile.b = turned.data();
  tile.start = c.data();
  tile.add = c.data();
  tile.out = d.data();
  tile.finish = kFinishBf16Add;
  gemm.tile_turned(kRows, 1, tile);
  c.insert(c.end(), d.begin(), d.end());
  return c;
}

std::vector<float> mapped(void (*function)(const float*, std::int64_t, float*)) {
  std::vector<float> x = hard_values(1003, 3, false);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] *= 20.0f;
  function(x.data(), static_cast<std::int64_t>(x.size()), x.data());
  return x;
}

std::vector<float> cast_by(const Table& table, int rounding) {
  std::vector<float> x = hard_values(517, 4, false);
  table.cast(x.data(), static_cast<std::int64_t>(x.size()), x.data(), rounding);
  return x;
}

std::vector<float> row_results(const Table& table) {
  std::vector<float> x = hard_values(203, 5, true), y = hard_values(203, 6, true);
  const auto n = static_cast<std::int64_t>(x.size());
  return {table.sum_of_squares(x.data(), n), table.dot(x.data(), y.data(), n)};
}

}  // namespace

std::string self_test(const Table& candidate, const Table& scalar) {
  if (&candidate == &scalar) return {};
  for (const int rounding : {kRoundNone, kRoundFp16}) {
    if (!same(gemm_product(*candidate.gemm_fp32, rounding, false),
              gemm_product(*scalar.gemm_fp32, rounding, false))) {
      return "fp32 product differs";
    }
  }
  if (!same(gemm_product(*candidate.gemm_bf16, kRoundBf16Floor,
                         candidate.gemm_bf16->values_per_step == 1),
            gemm_product(*scalar.gemm_bf16, kRoundBf16Floor, true))) {
    return "bf16 product differs";
  }
  for (int rounding = kRoundNone; rounding <= kRoundHf32; ++rounding) {
    if (!same(cast_by(candidate, rounding), cast_by(scalar, rounding))) {
      return "rounding " + std::to_string(rounding) + " differs";
    }
  }
  if (!same(mapped(candidate.exp), mapped(scalar.exp))) return "exp differs";
  if (!same(mapped(candidate.log), mapped(scalar.log))) return "log differs";
  if (!same(row_results(candidate), row_results(scalar))) return "row sums differ";
  return {};
}

}  // namespace nb::kernels::inner
