// Whole products of fp32 words. bf16 operands use them too where the host has no VDPBF16PS: packing
// does the rounding, the floor and the pair order, so a tile is one ascending chain for every
// format.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/gemm_pack.hpp"
#include "model/kernels/inner/gemm_tile.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

struct Fma {
  static constexpr bool kConverts = false, kRoundsPairs = false;
  NB_OP Floats operator()(Bits x, Bits y, Floats z) const {
    return fma_onto(floats(x), floats(y), z);
  }
};

void tile(int rows, int vectors, const GemmTile& t) { tile_by_size<Fma, false>(rows, vectors, t); }
void tile_transposed(int rows, int vectors, const GemmTile& t) {
  tile_by_size<Fma, true>(rows, vectors, t);
}
void spin(std::int64_t steps, float* values) { spin_loop(steps, values, Fma()); }

// Value k of row p, and the next 15. Value: float, or a half.
template <int kRounding, class Value>
struct AlongK {
  const Value* src;
  std::int64_t stride, k_count;
  NB_OP Bits operator()(std::int64_t p, std::int64_t k) const {
    const int lanes = k < k_count ? lanes_left(k_count, k) : 0;
    return bits(rounded<kRounding>(load_lanes(src + p * stride + k, lanes)));
  }
  NB_OP std::int64_t whole_steps() const { return k_count; }
  NB_OP Bits whole(std::int64_t p, std::int64_t k) const {
    return bits(rounded<kRounding>(load_lanes(src + p * stride + k, 16)));
  }
};
// Value k of row p and of the next lanes - 1 rows.
template <int kRounding, class Value>
struct AcrossK {
  const Value* src;
  std::int64_t stride, k_count;
  NB_OP Bits operator()(std::int64_t p, int lanes, std::int64_t k) const {
    if (k >= k_count) return all_bits(0u);
    return bits(rounded<kRounding>(load_lanes(src + k * stride + p, lanes)));
  }
  // Whole vectors need no care: steps [0, whole_steps()), from `at` on, `next` apart.
  NB_OP std::int64_t whole_steps() const { return k_count; }
  NB_OP const Value* at(std::int64_t p, std::int64_t k) const { return src + k * stride + p; }
  NB_OP std::int64_t next() const { return stride; }
  NB_OP Bits whole(const Value* from) const {
    return bits(rounded<kRounding>(load_lanes(from, 16)));
  }
};

void pack_rows(const float* src, std::int64_t stride, std::int64_t rows, std::int64_t k_count,
               std::int64_t steps, int rounding, bool swaps, std::uint32_t* dst) {
  with_operand_rounding(rounding, [&](auto r) {
    rows_from_rows(rows, steps, swaps, dst,
                   AlongK<decltype(r)::value, float>{src, stride, k_count});
  });
}

void pack_transposed_rows(const float* src, std::int64_t stride, std::int64_t rows,
                          std::int64_t k_count, std::int64_t steps, int rounding, bool swaps,
                          std::uint32_t* dst) {
  with_operand_rounding(rounding, [&](auto r) {
    const AcrossK<decltype(r)::value, float> words{src, stride, k_count};
    rows_from_columns(rows, steps, swaps, dst, words);
  });
}

void pack_panels(const float* src, std::int64_t stride, bool from_rows, std::int64_t columns,
                 std::int64_t k_count, std::int64_t steps, int rounding, bool swaps,
                 std::int64_t panel_words, std::uint32_t* dst) {
  constexpr int kWidth = 16 * kGemmPanel;
  with_operand_rounding(rounding, [&](auto r) {
    constexpr int kRounding = decltype(r)::value;
    if (from_rows) {
      panels_from_rows(columns, kWidth, steps, swaps, panel_words, dst,
                       AlongK<kRounding, float>{src, stride, k_count});
    } else {
      panels_from_columns(columns, kWidth, steps, swaps, panel_words, dst,
                          AcrossK<kRounding, float>{src, stride, k_count});
    }
  });
  clear_columns(columns, kWidth, steps, panel_words, dst);
}

void pack_rows_of_bf16(const std::uint16_t* src, std::int64_t stride, std::int64_t rows,
                       std::int64_t k_count, std::int64_t steps, bool swaps, std::uint32_t* dst) {
  rows_from_rows(rows, steps, swaps, dst,
                 AlongK<kRoundBf16Floor, std::uint16_t>{src, stride, k_count});
}

void pack_transposed_rows_of_bf16(const std::uint16_t* src, std::int64_t stride, std::int64_t rows,
                                  std::int64_t k_count, std::int64_t steps, bool swaps,
                                  std::uint32_t* dst) {
  rows_from_columns(rows, steps, swaps, dst,
                    AcrossK<kRoundBf16Floor, std::uint16_t>{src, stride, k_count});
}

void pack_panels_of_bf16(const std::uint16_t* src, std::int64_t stride, std::int64_t columns,
                         std::int64_t k_count, std::int64_t steps, bool swaps,
                         std::int64_t panel_words, std::uint32_t* dst) {
  constexpr int kWidth = 16 * kGemmPanel;
  panels_from_columns(columns, kWidth, steps, swaps, panel_words, dst,
                      AcrossK<kRoundBf16Floor, std::uint16_t>{src, stride, k_count});
  clear_columns(columns, kWidth, steps, panel_words, dst);
}

constexpr Gemm gemm_of_tiles() {
  Gemm gemm = {.rows = kGemmRows,
               .cols = 16 * kGemmPanel,
               .values_per_step = 1,
               .vectors = {},
               .burst = kBurst,
               .pack_rows = pack_rows,
               .pack_transposed_rows = pack_transposed_rows,
               .pack_panels = pack_panels,
               .pack_rows_of_bf16 = pack_rows_of_bf16,
               .pack_transposed_rows_of_bf16 = pack_transposed_rows_of_bf16,
               .pack_panels_of_bf16 = pack_panels_of_bf16,
               .tile = tile,
               .tile_transposed = tile_transposed,
               .converts = false,
               .spin = spin};
  for (int i = 0; i <= kGemmRows; ++i) gemm.vectors[i] = kGemmVectors[i];
  return gemm;
}

}  // namespace

constexpr Gemm kFp32Gemm = gemm_of_tiles();

#if NB_LEVEL_ID != NB_LEVEL_AVX512BF16
constexpr Gemm kBf16Gemm = kFp32Gemm;
#endif

}  // namespace nb::kernels::inner::NB_LEVEL
