// The self-test is tried with wrong results: of every function of a level's table, of every output
// that it has, at its first call and at later ones.
#include "model/kernels/self_test/self_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>

#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/simd_level.hpp"
#include "tests/model/kernels/planted_entry.hpp"

namespace nb::kernels {
namespace {

using inner::AttentionTiles;
using inner::Gemm;
using inner::Table;
using test::Entry;
using test::plan;
using test::right;
using test::spoil;

const Table& scalar() { return *inner::compiled_table(SimdLevel::kScalar); }

constexpr Entry<Table> kTable[] = {
    NB_ENTRY(Table, finish),
    NB_ENTRY(Table, fill),
    NB_ENTRY(Table, cast),
    NB_ENTRY(Table, scale),
    NB_ENTRY(Table, add),
    NB_ENTRY(Table, add_to_bf16),
    NB_ENTRY(Table, relu_squared),
    NB_ENTRY(Table, relu_squared_backward),
    NB_ENTRY(Table, relu_squared_to_bf16),
    NB_ENTRY(Table, relu_squared_backward_of_bf16),
    NB_ENTRY(Table, adamw),
    NB_ENTRY(Table, muon_momentum),
    NB_ENTRY(Table, add_scaled),
    NB_ENTRY(Table, divide),
    NB_ENTRY(Table, scaled_plus),
    NB_ENTRY(Table, exp),
    NB_ENTRY(Table, log),
    NB_ENTRY(Table, sum_of_squares),
    NB_ENTRY(Table, dot),
    NB_ENTRY(Table, from_bf16),
    NB_ENTRY(Table, to_bf16),
    NB_ENTRY(Table, all_below),
    NB_ENTRY(Table, first_largest),
    NB_ENTRY(Table, rms_norm),
    NB_ENTRY(Table, rms_norm_backward),
    NB_ENTRY(Table, rms_norm_rows),
    NB_ENTRY(Table, rms_norm_backward_rows),
    NB_ENTRY(Table, rotary),
    NB_ENTRY(Table, softcap),
    NB_ENTRY(Table, cap_logits),
    NB_ENTRY(Table, largest_capped),
    NB_ENTRY(Table, capped_sum),
    NB_ENTRY(Table, capped_value),
    NB_ENTRY(Table, first_capped),
    NB_ENTRY(Table, capped_gradient),
};
constexpr Entry<Gemm> kGemm[] = {
    NB_ENTRY(Gemm, pack_rows),
    NB_ENTRY(Gemm, pack_transposed_rows),
    NB_ENTRY(Gemm, pack_panels),
    NB_ENTRY(Gemm, pack_rows_of_bf16),
    NB_ENTRY(Gemm, pack_transposed_rows_of_bf16),
    NB_ENTRY(Gemm, pack_panels_of_bf16),
    NB_ENTRY(Gemm, tile),
    NB_ENTRY(Gemm, tile_transposed),
};
constexpr Entry<AttentionTiles> kAttention[] = {
    NB_ENTRY(AttentionTiles, to_rows),      NB_ENTRY(AttentionTiles, to_panels),
    NB_ENTRY(AttentionTiles, to_lanes),     NB_ENTRY(AttentionTiles, to_bf16),
    NB_ENTRY(AttentionTiles, bf16_to_rows), NB_ENTRY(AttentionTiles, bf16_to_panels),
    NB_ENTRY(AttentionTiles, finite),       NB_ENTRY(AttentionTiles, forward),
    NB_ENTRY(AttentionTiles, one),          NB_ENTRY(AttentionTiles, backward),
    NB_ENTRY(AttentionTiles, over_queries), NB_ENTRY(AttentionTiles, quotients),
    NB_ENTRY(AttentionTiles, scaled),
};

// Nothing is missing above: all members of these are pointers, but for those named.
constexpr std::size_t kPointer = sizeof(void (*)());
static_assert(sizeof(void*) == kPointer);
static_assert(sizeof(Table) == (std::size(kTable) + 5) * kPointer);  // name, gemm_…, …_attention
static_assert(offsetof(Gemm, converts) - offsetof(Gemm, pack_rows) ==
              std::size(kGemm) * kPointer);  // spin, behind it, is for benchmarks
static_assert(sizeof(Gemm) - offsetof(Gemm, spin) == kPointer);
static_assert(offsetof(Gemm, spin) - offsetof(Gemm, converts) <= kPointer);
static_assert(sizeof(AttentionTiles) - offsetof(AttentionTiles, to_rows) ==
              std::size(kAttention) * kPointer);

const SelfTestResults& expected() {
  static const SelfTestResults kResults = self_test_results(scalar());
  return kResults;
}

// The entry that the self-test names while one call is wrong.
std::string named(const Table& table, int call, int output) {
  plan = {call, output};
  return first_difference(self_test_results(table), expected());
}

// At the first call it must be the function itself. Later calls may serve to test others, which are
// named then, or may lose a wrong bit (a query that hardly sees a key): but most of them are seen.
void try_all(const std::string& name, const Table& table) {
  EXPECT_EQ(named(table, -1, 0), "") << name;
  const int calls = plan.calls, outputs = plan.outputs;
  ASSERT_GT(calls, 0) << name << " is never called";
  for (int output = 0; output < outputs; ++output) {
    EXPECT_EQ(named(table, 0, output), name) << "output " << output;
    int seen = 0;
    for (const int call : {calls / 5, calls / 3, calls / 2, calls * 3 / 4, calls - 1}) {
      if (!named(table, call, output).empty()) ++seen;
    }
    EXPECT_GE(seen, 3) << name << ", output " << output << ", some of " << calls << " calls";
  }
}

template <class Owner, class Entries>
void try_all_of(const Entries& entries, const Owner& original, const std::string& prefix,
                const std::function<void(Table&, const Owner*)>& put) {
  for (const Entry<Owner>& entry : entries) {
    Owner copy = original;
    if (prefix == "fp32_attention." && std::string(entry.name).find("bf16") < 99) continue;
    entry.plant(copy);
    right<Owner> = &original;
    Table table = scalar();
    put(table, &copy);
    try_all(prefix + entry.name, table);
  }
}

TEST(SelfTest, ItSeesAWrongResultOfEveryFunctionOfTheTable) {
  right<Table> = &scalar();
  for (const Entry<Table>& entry : kTable) {
    Table table = scalar();
    entry.plant(table);
    try_all(entry.name, table);
  }
}

TEST(SelfTest, ItSeesAWrongResultOfEveryFunctionOfProducts) {
  try_all_of<Gemm>(kGemm, *scalar().gemm_fp32, "gemm_fp32.",
                   [](Table& t, const Gemm* wrong) { t.gemm_fp32 = wrong; });
  try_all_of<Gemm>(kGemm, *scalar().gemm_bf16, "gemm_bf16.",
                   [](Table& t, const Gemm* wrong) { t.gemm_bf16 = wrong; });
}

TEST(SelfTest, ItSeesAWrongResultOfEveryFunctionOfAttention) {
  try_all_of<AttentionTiles>(kAttention, *scalar().fp32_attention, "fp32_attention.",
                             [](Table& t, const AttentionTiles* o) { t.fp32_attention = o; });
  try_all_of<AttentionTiles>(kAttention, *scalar().bf16_attention, "bf16_attention.",
                             [](Table& t, const AttentionTiles* o) { t.bf16_attention = o; });
}

// Tiles that are wrong in one size, one finish, or in what they convert on their way.
bool (*is_wrong_tile)(int rows, int vectors, const inner::GemmTile& tile) = nullptr;
bool spoils_conversion = false;

void wrong_tile(int rows, int vectors, const inner::GemmTile& tile) {
  std::uint32_t* const words = tile.conversion == nullptr ? nullptr : tile.conversion->to;
  right<Gemm>->tile(rows, vectors, tile);
  if (!is_wrong_tile(rows, vectors, tile)) return;
  if (spoils_conversion) {
    spoil({words, test::kHighest});
  } else {
    spoil({tile.out + (rows - 1) * tile.out_stride + 16 * vectors - 1});
  }
}

TEST(SelfTest, ItTriesEverySizeAndEveryEndOfTilesAtEveryLevel) {
  for (const SimdLevel level : available_levels()) {
    const Table& table = *inner::compiled_table(level);
    for (const Gemm* gemm : {table.gemm_fp32, table.gemm_bf16}) {
      right<Gemm> = gemm;
      Gemm copy = *gemm;
      copy.tile = wrong_tile;
      Table wrong = table;
      const bool is_bf16 = gemm == table.gemm_bf16 && gemm != table.gemm_fp32;
      (is_bf16 ? wrong.gemm_bf16 : wrong.gemm_fp32) = &copy;
      const auto sees = [&](bool (*is_wrong)(int, int, const inner::GemmTile&)) {
        is_wrong_tile = is_wrong;
        EXPECT_EQ(first_difference(self_test_results(wrong), expected()),
                  is_bf16 ? "gemm_bf16.tile" : "gemm_fp32.tile")
            << name(level);
      };
      spoils_conversion = false;
      static int size_rows, size_vectors, end;
      for (size_rows = 1; size_rows <= gemm->rows; ++size_rows) {
        for (const int v : {1, gemm->cols / 16, gemm->vectors[size_rows]}) {
          size_vectors = v;
          sees([](int r, int vectors, const inner::GemmTile&) {
            return r == size_rows && vectors == size_vectors;
          });
        }
      }
      for (end = inner::kFinishRaw; end <= inner::kFinishBf16Add; ++end) {
        sees([](int, int, const inner::GemmTile& t) { return t.finish == end; });
      }
      if (!gemm->converts) continue;
      spoils_conversion = true;
      using inner::Converts;
      static Converts what;
      for (const Converts kind : {Converts::kAcross, Converts::kAlong, Converts::kBf16Along}) {
        what = kind;
        sees([](int, int, const inner::GemmTile& t) {
          return t.conversion != nullptr && t.conversion->what == what;
        });
      }
    }
  }
}

// Of processor time, with room for slow hosts: the header's few milliseconds.
TEST(SelfTest, ItTakesAFewMilliseconds) {
  for (const SimdLevel level : available_levels()) {
    double least_ms = 1e9;
    for (int turn = 0; turn < 5; ++turn) {
      const std::clock_t begin = std::clock();
      const SelfTestResults results = self_test_results(*inner::compiled_table(level));
      least_ms =
          std::min(least_ms, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
      EXPECT_EQ(first_difference(results, expected()), "");
    }
    std::printf("  %s: %.2f ms\n", name(level).data(), least_ms);
#if defined(__OPTIMIZE__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
    EXPECT_LT(least_ms, 30.0) << name(level);
#endif
  }
}

}  // namespace
}  // namespace nb::kernels
