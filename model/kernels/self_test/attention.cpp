// Attention: packing, blocks of queries forward and backward, single queries.
#include <cmath>
#include <utility>

#include "model/kernels/self_test/attention_packing.hpp"

namespace nb::kernels::self_test {
namespace {

using inner::AttentionTiles;

constexpr std::int64_t kOdd = 37;  // a whole panel of either width, and a rest

void add_packing(const AttentionPacking& packing, Results& r) {
  const std::vector<float> x = hard_values(kOdd * kOdd, 80);
  packing.add_rows("to_rows", packing.rows(x, kOdd, kOdd), kOdd, kOdd, r);
  packing.add_panels("to_panels", packing.panels(x, kOdd, kOdd), kOdd, kOdd, r);
  for (const std::int64_t rows : {std::int64_t{16}, std::int64_t{5}}) {
    packing.add_lanes("to_lanes", packing.lanes(x.data(), rows, kOdd), rows, kOdd, r);
  }
  const AttentionTiles& tiles = packing.tiles();
  if (tiles.to_bf16 == nullptr) return;
  std::vector<std::uint16_t> h(x.size());
  tiles.to_bf16(x.data(), std::ssize(x), h.data());
  std::vector<float> made = numbers(h);
  for (float& value : made) value += 0.0f;  // no product shows the sign of a zero
  r.add("to_bf16", std::move(made));
  const std::vector<std::uint16_t> any = bf16(x);
  packing.add_rows("bf16_to_rows", packing.rows(any, kOdd, kOdd), kOdd, kOdd, r);
  packing.add_panels("bf16_to_panels", packing.panels(any, kOdd, kOdd), kOdd, kOdd, r);
}

void add_finite(const AttentionPacking& packing, Results& r) {
  std::vector<float> x = ordinary_values(kOdd, 81);
  const auto is_finite = [&] {
    const Words row = packing.rows(x, 1, kOdd);
    return packing.tiles().finite(row.data(), packing.words(kOdd));
  };
  r.claim("finite", is_finite());
  for (const std::size_t place : {0u, 17u, 36u}) {
    for (const float bad : {INFINITY, NAN}) {
      const float kept = std::exchange(x[place], bad);
      r.claim("finite", !is_finite());
      x[place] = kept;
    }
  }
}

void add_quotients(const AttentionTiles& tiles, Results& r) {
  constexpr std::int64_t kRows = 3, kStride = 48;
  const std::vector<float> sums = hard_values(kRows * kStride, 82),
                           divisors = ordinary_values(kRows, 83);
  for (const int rounding : kAllRoundings) {
    std::vector<float> out = floats(kRows * kOdd);
    tiles.quotients(sums.data(), kStride, kRows, kOdd, divisors.data(), out.data(), kOdd, rounding);
    r.add("quotients", out);
    tiles.scaled(sums.data(), kStride, kRows, kOdd, 0.3f, out.data(), kOdd, rounding);
    r.add("scaled", out);
  }
}

}  // namespace

// Sizes: two whole blocks of 32 queries and a rest, so that tiles without a mask, with a mask and
// of one vector all run, with a window and without; few keys with a head of more than a panel; keys
// before the first query.
// Single queries: 1 to 4 groups of 16 keys, and every width in which columns of V are taken.
Results attention_results(const AttentionTiles& tiles, bool is_bf16) {
  Results r(is_bf16 ? "bf16_attention." : "fp32_attention.");
  const AttentionPacking packing(tiles, is_bf16,
                                 is_bf16 ? inner::kRoundBf16Floor : inner::kRoundNone);
  add_packing(packing, r);
  add_finite(packing, r);
  add_quotients(tiles, r);
  using inner::kNoWindow;
  add_head(packing, 0, 69, 6, kNoWindow, r);
  add_head(packing, 0, 69, 6, 20, r);
  add_head(packing, 0, 7, kOdd, kNoWindow, r);
  add_head(packing, 9, 8, 18, kNoWindow, r);
  add_one(packing, 75, 0, 128 + 32 + 5, r);
  for (const std::int64_t keys : {1, 20, 37}) add_one(packing, keys, keys / 3, 37, r);
  if (is_bf16) return r;
  for (const int rounding :
       {inner::kRoundFp16, inner::kRoundFp16Saturating, inner::kRoundTf32, inner::kRoundHf32}) {
    const AttentionPacking other(tiles, false, rounding);
    add_packing(other, r);
    add_head(other, 0, 6, 6, kNoWindow, r);
    add_one(other, 5, 0, 6, r);
  }
  return r;
}

}  // namespace nb::kernels::self_test
