// Operands of whole products, packed as a level packs them and read back. Internal to
// model/kernels/self_test.
#pragma once

#include <algorithm>

#include "model/kernels/self_test/cases.hpp"

namespace nb::kernels::self_test {

using Words = std::vector<std::uint32_t>;
inline constexpr std::uint32_t kUnwritten = 0x7fedcba9u;  // a NaN in every form

inline Words words(std::int64_t count) {
  return Words(static_cast<std::size_t>(count), kUnwritten);
}

// Packs operands and reads them back.
class GemmPacking {
 public:
  GemmPacking(const inner::Gemm& gemm, bool is_bf16, int rounding)
      : gemm_(gemm),
        is_bf16_(is_bf16),
        swaps_(is_bf16 && gemm.values_per_step == 1),
        rounding_(rounding) {}

  std::int64_t steps(std::int64_t k) const {
    if (gemm_.values_per_step == 2) return (k + 1) / 2;
    return swaps_ ? (k + 1) / 2 * 2 : k;
  }
  std::int64_t panel_words(std::int64_t k) const { return (steps(k) + 1) * gemm_.cols; }

  // source (p, k).
  Words rows(const std::vector<float>& source, std::int64_t p, std::int64_t k) const {
    Words to = words(p * inner::kGemmRowWords);
    gemm_.pack_rows(source.data(), k, p, k, steps(k), rounding_, swaps_, to.data());
    return to;
  }
  Words rows(const std::vector<std::uint16_t>& source, std::int64_t p, std::int64_t k) const {
    Words to = words(p * inner::kGemmRowWords);
    gemm_.pack_rows_of_bf16(source.data(), k, p, k, steps(k), swaps_, to.data());
    return to;
  }
  // source (k, p).
  Words transposed_rows(const std::vector<float>& source, std::int64_t p, std::int64_t k) const {
    Words to = words(p * inner::kGemmRowWords);
    gemm_.pack_transposed_rows(source.data(), p, p, k, steps(k), rounding_, swaps_, to.data());
    return to;
  }
  Words transposed_rows(const std::vector<std::uint16_t>& source, std::int64_t p,
                        std::int64_t k) const {
    Words to = words(p * inner::kGemmRowWords);
    gemm_.pack_transposed_rows_of_bf16(source.data(), p, p, k, steps(k), swaps_, to.data());
    return to;
  }
  // source (p, k) where from_rows, else (k, p).
  Words panels(const std::vector<float>& source, bool from_rows, std::int64_t p,
               std::int64_t k) const {
    Words to = words(panel_count(p) * panel_words(k));
    gemm_.pack_panels(source.data(), from_rows ? k : p, from_rows, p, k, steps(k), rounding_,
                      swaps_, panel_words(k), to.data());
    return to;
  }
  Words panels(const std::vector<std::uint16_t>& source, std::int64_t p, std::int64_t k) const {
    Words to = words(panel_count(p) * panel_words(k));
    gemm_.pack_panels_of_bf16(source.data(), p, p, k, steps(k), swaps_, panel_words(k), to.data());
    return to;
  }

  // (p, k), k filled up with zeros to whole pairs for bf16.
  std::vector<float> read_rows(const Words& from, std::int64_t p, std::int64_t k) const {
    std::vector<float> values;
    for (std::int64_t row = 0; row < p; ++row) {
      read({from.data() + row * inner::kGemmRowWords, 1, gemm_.values_per_step, swaps_, is_bf16_},
           k, values);
    }
    return values;
  }
  std::vector<float> read_panels(const Words& from, std::int64_t p, std::int64_t k) const {
    std::vector<float> values;
    for (std::int64_t column = 0; column < p; ++column) read(column_of(from, column, k), k, values);
    return values;
  }
  // Columns that the last panel has and the source has not.
  bool are_clear(const Words& from, std::int64_t p, std::int64_t k) const {
    std::vector<float> values;
    for (std::int64_t column = p; column < panel_count(p) * gemm_.cols; ++column) {
      read(column_of(from, column, k), k, values);
    }
    return std::ranges::all_of(values, [](float x) { return x == 0.0f; });
  }

 private:
  std::int64_t panel_count(std::int64_t p) const { return (p + gemm_.cols - 1) / gemm_.cols; }
  PackedLine column_of(const Words& from, std::int64_t column, std::int64_t k) const {
    return {from.data() + column / gemm_.cols * panel_words(k) + column % gemm_.cols, gemm_.cols,
            gemm_.values_per_step, swaps_, is_bf16_};
  }
  void read(const PackedLine& line, std::int64_t k, std::vector<float>& to) const {
    for (std::int64_t i = 0; i < (is_bf16_ ? (k + 1) / 2 * 2 : k); ++i) to.push_back(line.value(i));
  }

  const inner::Gemm& gemm_;
  bool is_bf16_, swaps_;
  int rounding_;
};

}  // namespace nb::kernels::self_test
