// Operands of attention, packed as a level packs them and read back. Internal to
// model/kernels/self_test.
#pragma once

#include "model/kernels/multiples.hpp"
#include "model/kernels/self_test/cases.hpp"

namespace nb::kernels::self_test {

using Words = std::vector<std::uint32_t>;
inline constexpr std::uint32_t kUnwritten = 0x7fedcba9u;  // a NaN in every form

inline std::vector<float> floats(std::int64_t count) {
  return std::vector<float>(static_cast<std::size_t>(count));
}

// Packs operands and reads them back.
class AttentionPacking {
 public:
  AttentionPacking(const inner::AttentionTiles& tiles, bool is_bf16, int rounding)
      : tiles_(tiles), is_bf16_(is_bf16), rounding_(rounding) {}

  const inner::AttentionTiles& tiles() const { return tiles_; }
  int rounding() const { return rounding_; }
  std::int64_t words(std::int64_t values) const {
    const bool even = tiles_.even || tiles_.values_per_word == 2;
    return (even ? round_up(values, 2) : values) / tiles_.values_per_word;
  }
  std::int64_t padded(std::int64_t keys) const { return round_up(keys, tiles_.rows); }
  std::int64_t panel_words(std::int64_t rows) const { return words(rows) * tiles_.width; }
  static Words unwritten(std::int64_t count) {
    return Words(static_cast<std::size_t>(count), kUnwritten);
  }

  // source (rows, cols).
  Words rows(const std::vector<float>& source, std::int64_t count, std::int64_t cols) const {
    Words to = unwritten(padded(count) * words(cols));
    tiles_.to_rows(source.data(), cols, count, padded(count), cols, rounding_, to.data());
    return to;
  }
  Words rows(const std::vector<std::uint16_t>& source, std::int64_t count,
             std::int64_t cols) const {
    Words to = unwritten(padded(count) * words(cols));
    tiles_.bf16_to_rows(source.data(), cols, count, padded(count), cols, to.data());
    return to;
  }
  Words panels(const std::vector<float>& source, std::int64_t rows, std::int64_t cols) const {
    Words to = unwritten(panel_count(cols) * panel_words(rows));
    tiles_.to_panels(source.data(), cols, rows, cols, rounding_, to.data(), panel_words(rows));
    return to;
  }
  Words panels(const std::vector<std::uint16_t>& source, std::int64_t rows,
               std::int64_t cols) const {
    Words to = unwritten(panel_count(cols) * panel_words(rows));
    tiles_.bf16_to_panels(source.data(), cols, rows, cols, to.data(), panel_words(rows));
    return to;
  }
  Words lanes(const float* source, std::int64_t rows, std::int64_t cols) const {
    Words to = unwritten(panel_words(cols));
    tiles_.to_lanes(source, cols, rows, cols, rounding_, to.data());
    return to;
  }

  // All that the layouts say: values, and whether the rest is zero.
  void add_rows(const char* entry, const Words& from, std::int64_t count, std::int64_t cols,
                Results& r) const {
    const auto row = [&](std::int64_t i) { return line(from.data() + i * words(cols), 1); };
    add(entry, count, padded(count), cols, row, r);
  }
  void add_lanes(const char* entry, const Words& from, std::int64_t rows, std::int64_t cols,
                 Results& r) const {
    const auto lane = [&](std::int64_t i) { return line(from.data() + i, tiles_.width); };
    add(entry, rows, tiles_.width, cols, lane, r);
  }
  void add_panels(const char* entry, const Words& from, std::int64_t rows, std::int64_t cols,
                  Results& r) const {
    const auto column = [&](std::int64_t j) {
      return line(from.data() + j / tiles_.width * panel_words(rows) + j % tiles_.width,
                  tiles_.width);
    };
    add(entry, cols, panel_count(cols) * tiles_.width, rows, column, r);
  }

 private:
  std::int64_t panel_count(std::int64_t cols) const { return ceil_div(cols, tiles_.width); }
  PackedLine line(const std::uint32_t* words, std::int64_t step) const {
    return {words, step, tiles_.values_per_word, false, is_bf16_};
  }
  template <class Line>
  void add(const char* entry, std::int64_t count, std::int64_t padded, std::int64_t length,
           const Line& line, Results& r) const {
    std::vector<float> values;
    bool is_clear = true;
    const std::int64_t all = words(length) * tiles_.values_per_word;
    for (std::int64_t i = 0; i < padded; ++i) {
      for (std::int64_t k = 0; k < all; ++k) {
        const float value = line(i).value(k);
        if (i < count && k < length) values.push_back(value);
        is_clear = is_clear && ((i < count && k < length) || value == 0.0f);
      }
    }
    r.add(entry, std::move(values));
    r.claim(entry, is_clear);
  }

  const inner::AttentionTiles& tiles_;
  bool is_bf16_;
  int rounding_;
};

// Forward and backward of one head of `time` queries behind `position` keys, of which each sees
// `window` before its own.
void add_head(const AttentionPacking& packing, std::int64_t position, std::int64_t time,
              std::int64_t dim, std::int64_t window, Results& r);
// A single query over so many keys, which lie as a cache holds them; `hidden` lie before its
// window.
void add_one(const AttentionPacking& packing, std::int64_t keys, std::int64_t hidden,
             std::int64_t dim, Results& r);

}  // namespace nb::kernels::self_test
