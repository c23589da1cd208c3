// Packing and tiles of whole products.
#include <algorithm>
#include <cmath>

#include "model/kernels/self_test/cases.hpp"
#include "model/kernels/self_test/gemm_packing.hpp"

namespace nb::kernels::self_test {
namespace {

using inner::Conversion;
using inner::Converts;
using inner::Gemm;
using inner::GemmTile;
using inner::kGemmRowWords;
using inner::Table;

// Whole groups of 16 rows, columns and steps, and rests of them.
constexpr std::int64_t kP = 37, kK = 75;

void add_packing(const GemmPacking& packing, const std::vector<float>& x, std::int64_t p,
                 std::int64_t k, Results& r) {
  const auto add_rows = [&](const char* entry, const Words& packed) {
    r.add(entry, packing.read_rows(packed, p, k));
  };
  const auto add_panels = [&](const char* entry, const Words& packed) {
    r.add(entry, packing.read_panels(packed, p, k));
    r.claim(entry, packing.are_clear(packed, p, k));
  };
  add_rows("pack_rows", packing.rows(x, p, k));
  add_rows("pack_transposed_rows", packing.transposed_rows(x, p, k));
  for (const bool from_rows : {false, true}) {
    add_panels("pack_panels", packing.panels(x, from_rows, p, k));
  }
}

// Two bytes per value are bf16's, whose words every Gemm can hold.
void add_packing_of_bf16(const Gemm& gemm, Results& r) {
  const GemmPacking packing(gemm, true, inner::kRoundBf16Floor);
  const std::vector<std::uint16_t> x = bf16(hard_values(kP * kK, 61));
  r.add("pack_rows_of_bf16", packing.read_rows(packing.rows(x, kP, kK), kP, kK));
  r.add("pack_transposed_rows_of_bf16",
        packing.read_rows(packing.transposed_rows(x, kP, kK), kP, kK));
  const Words panels = packing.panels(x, kP, kK);
  r.add("pack_panels_of_bf16", packing.read_panels(panels, kP, kK));
  r.claim("pack_panels_of_bf16", packing.are_clear(panels, kP, kK));
}

// Something that tiles can convert: two runs of four times 32 words. Rows of 256 values along k, or
// two panels of 4 steps across it.
class Converted {
 public:
  Converted(const GemmPacking& packing, Converts what)
      : what_(what),
        to_run_(what == Converts::kAcross ? packing.panel_words(kAcrossK) : kGemmRowWords) {
    if (what == Converts::kAcross) {
      packed_ = packing.panels(source_, false, kAcrossP, kAcrossK);
    } else if (what == Converts::kAlong) {
      packed_ = packing.rows(source_, kAlongP, kAlongK);
    } else {
      packed_ = packing.rows(in_two_bytes_, kAlongP, kAlongK);
    }
  }
  const Words& packed() const { return packed_; }

  Conversion conversion(Words& to) const {
    constexpr std::int64_t kRun = 4, kWords = 32;
    const bool across = what_ == Converts::kAcross, of_bf16 = what_ == Converts::kBf16Along;
    const std::int64_t value = of_bf16 ? 2 : 4;
    const std::int64_t next = value * (across ? 2 * kAcrossP : 2 * kWords);
    const std::int64_t from_run = value * (across ? kWords : kAlongK);
    return {.what = what_,
            .from = of_bf16 ? reinterpret_cast<const char*>(in_two_bytes_.data())
                            : reinterpret_cast<const char*>(source_.data()),
            .other = across ? value * kWords / 2 : next / 2,
            .next = next,
            .jump = from_run - (kRun - 1) * next,
            .to = to.data(),
            .to_next = kWords,
            .to_jump = to_run_ - (kRun - 1) * kWords,
            .run = kRun,
            .in_run = kRun,
            .left = 2 * kRun,
            .second = across ? value * kAcrossP : 0};
  }

 private:
  static constexpr std::int64_t kAcrossP = 64, kAcrossK = 8, kAlongP = 2, kAlongK = 256;
  Converts what_;
  std::int64_t to_run_;
  std::vector<float> source_ = hard_values(kAcrossP * kAcrossK, 77);
  std::vector<std::uint16_t> in_two_bytes_ = bf16(source_);
  Words packed_;
};

// Products of up to 12 rows and 128 columns, as wide as any tile: of ordinary values, and of hard
// ones that continue from other sums and are added to more.
class Tiles {
 public:
  Tiles(const Table& table, const Gemm& gemm, const GemmPacking& packing)
      : table_(table), gemm_(gemm), panel_words_(packing.panel_words(kDepth)) {
    for (const bool is_hard : {false, true}) {
      std::vector<float> a = ordinary_values(kRows * kDepth, 70),
                         b = ordinary_values(kColumns * kDepth, 71);
      if (is_hard) {
        a = tame(finite_values(kRows * kDepth, 72));
        b = tame(finite_values(kColumns * kDepth, 73));
        a[5 * kDepth + 1] = NAN;
        a[7 * kDepth + 2] = INFINITY;
      }
      Case& one = cases_[is_hard ? 1 : 0];
      one.rows = packing.rows(a, kRows, kDepth);
      one.left = packing.panels(a, true, kRows, kDepth);
      one.right = packing.panels(b, true, kColumns, kDepth);
      one.steps = packing.steps(kDepth);
      // Sums of bf16 products are no denormals and no -0 (policy.hpp): nor are these.
      if (is_hard) one.start = ordinary_values(kRows * kColumns, 74);
      if (is_hard) one.add = ordinary_values(kRows * kColumns, 75);
    }
  }

  // What tiles of one row and 16 columns give must be what all others give.
  void add_results(bool transposed, Results& r) {
    const char* const entry = transposed ? "tile_transposed" : "tile";
    for (Case& one : cases_) {
      one.sums.assign(kRows * kColumns, 0.0f);
      for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t col = 0; col < columns(transposed, row); col += 16) {
          run(one, transposed, row, 1, col, 1, inner::kFinishRaw, one.sums);
        }
      }
      r.add(entry, one.sums);
    }
    bool agree = true;
    each_size(transposed, [&](int rows, int vectors) {
      for (const Case& one : cases_) {
        for (int finish = inner::kFinishRaw; finish <= inner::kFinishBf16Add; ++finish) {
          agree = agree && same_as_small_tiles(one, transposed, rows, vectors, finish);
        }
      }
    });
    r.claim(entry, agree);
  }

  // Every size that converts, from every kind of source.
  void add_conversions(const GemmPacking& packing, Results& r) {
    bool agree = true;
    if (gemm_.converts) {
      for (const Converts what : {Converts::kAcross, Converts::kAlong, Converts::kBf16Along}) {
        const Converted expected(packing, what);
        each_size(false, [&](int rows, int vectors) {
          if (rows < inner::kMinConvertingRows) return;
          agree = agree && converts(expected, rows, vectors);
        });
      }
    }
    r.claim("tile", agree);
  }

 private:
  static constexpr std::int64_t kRows = 12, kColumns = 128, kDepth = 38;

  // Columns that a tile may have of so many rows and this one.
  static constexpr std::int64_t columns(bool transposed, std::int64_t row) {
    return transposed ? 32 : row < 2 ? 128 : row < 6 ? 64 : 32;
  }

  struct Case {
    Words rows, left, right;
    std::vector<float> start, add, sums;
    std::int64_t steps;
  };

  template <class Body>
  void each_size(bool transposed, const Body& body) const {
    const int panel = gemm_.cols / 16;
    for (int rows = 1; rows <= gemm_.rows; ++rows) {
      body(rows, 1);
      if (panel > 1) body(rows, panel);
      if (!transposed && gemm_.vectors[rows] > panel) body(rows, gemm_.vectors[rows]);
    }
  }

  void run(const Case& one, bool transposed, std::int64_t row, int rows, std::int64_t col,
           int vectors, int finish, std::vector<float>& out,
           Conversion* conversion = nullptr) const {
    const std::int64_t at = row * kColumns + col;
    // A tile that asks for memory goes another way.
    inner::Fetch fetch = {};
    if (!one.start.empty()) {
      const char* memory = reinterpret_cast<const char*>(one.start.data());
      fetch = {.at = memory, .end = memory + 256, .step = 64, .stride = 0, .jump = -256};
    }
    GemmTile tile = {};
    tile.steps = one.steps;
    tile.a = transposed ? one.left.data() + row : one.rows.data() + row * kGemmRowWords;
    tile.b = one.right.data() + col / gemm_.cols * panel_words_ + col % gemm_.cols;
    tile.b_panel = panel_words_;
    tile.start = one.start.empty() ? nullptr : one.start.data() + at;
    tile.add = one.add.empty() ? nullptr : one.add.data() + at;
    tile.out = out.data() + at;
    tile.start_stride = tile.add_stride = tile.out_stride = kColumns;
    tile.finish = finish;
    tile.fetch[0] = &fetch;
    tile.conversion = conversion;
    (transposed ? gemm_.tile_transposed : gemm_.tile)(rows, vectors, tile);
  }

  bool same_as_small_tiles(const Case& one, bool transposed, int rows, int vectors, int finish) {
    const int columns = 16 * vectors;
    const bool adds = finish == inner::kFinishFp32Add || finish == inner::kFinishBf16Add;
    const bool rounds = finish == inner::kFinishBf16 || finish == inner::kFinishBf16Add;
    if (adds) out_ = before_;
    run(one, transposed, 0, rows, 0, vectors, finish, out_);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* sums = one.sums.data() + row * kColumns;
      float expected[kColumns];
      if (finish == inner::kFinishRaw) {
        std::copy_n(sums, columns, expected);
      } else {
        std::copy_n(before_.data() + row * kColumns, columns, expected);
        table_.finish(sums, columns, expected, rounds ? inner::kRoundBf16 : inner::kRoundNone,
                      adds);
      }
      if (!same(out_.data() + row * kColumns, expected, columns)) return false;
    }
    return true;
  }

  // The words of a conversion must be those of packing, and the tile must not notice.
  bool converts(const Converted& expected, int rows, int vectors) {
    Words made = words(std::ssize(expected.packed()));
    Conversion conversion = expected.conversion(made);
    const Case& one = cases_[0];
    while (conversion.left > 0) {
      const std::int64_t before = conversion.left;
      run(one, false, 0, rows, 0, vectors, inner::kFinishRaw, out_, &conversion);
      if (conversion.left == before) return false;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = row * kColumns;
      if (!same(out_.data() + at, one.sums.data() + at, 16 * vectors)) return false;
    }
    return made == expected.packed();
  }

  const Table& table_;
  const Gemm& gemm_;
  std::int64_t panel_words_;
  Case cases_[2];
  const std::vector<float> before_ = ordinary_values(kRows * kColumns, 76);
  std::vector<float> out_ = before_;
};

}  // namespace

Results gemm_results(const Table& table, const Gemm& gemm, bool is_bf16) {
  Results r(is_bf16 ? "gemm_bf16." : "gemm_fp32.");
  const GemmPacking packing(gemm, is_bf16, is_bf16 ? inner::kRoundBf16Floor : inner::kRoundNone);
  const std::vector<float> x = hard_values(kP * kK, 60);
  add_packing(packing, x, kP, kK, r);
  if (!is_bf16) {
    for (const int rounding :
         {inner::kRoundFp16, inner::kRoundFp16Saturating, inner::kRoundTf32, inner::kRoundHf32}) {
      add_packing(GemmPacking(gemm, false, rounding), x, 17, 19, r);
    }
  }
  add_packing_of_bf16(gemm, r);
  Tiles tiles(table, gemm, packing);
  tiles.add_results(true, r);
  tiles.add_results(false, r);
  tiles.add_conversions(packing, r);
  return r;
}

}  // namespace nb::kernels::self_test
