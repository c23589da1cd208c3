// Register tiles of matrix products, for any format whose arithmetic a Step functor does. Meanings:
// gemm.hpp.
#pragma once

#include "model/kernels/inner/vec.hpp"

NB_LOCAL_BEGIN

NB_OP void store_words(std::uint32_t* dst, Bits x) {
  store(reinterpret_cast<float*>(dst), floats(x));
}

// A Fetch at work. What changes from burst to burst stays in registers.
struct Walk {
  const char *at = nullptr, *end = nullptr;  // nowhere: nothing to ask for
  std::int64_t step = 0;
  NB_OP void ask(const Fetch* fetch) {
    if (at == nullptr) return;
    std::int64_t ahead = 0;
    do {
      __builtin_prefetch(at + ahead, 0, 2);
      ahead += 64;
    } while (ahead < step);
    at += step;
    if (at >= end) {
      at += fetch->jump;
      end += fetch->stride;
    }
  }
};
NB_OP Walk walk_of(const Fetch* fetch) {
  if (fetch == nullptr) return {};
  return {fetch->at, fetch->end, fetch->step};
}
NB_OP void keep(const Walk& walk, Fetch* fetch) {
  if (walk.at == nullptr) return;
  fetch->at = walk.at;
  fetch->end = walk.end;
}

// step.words<kWhat>(from, second): 16 words.
template <Converts kWhat, class Step>
NB_OP void convert(Conversion* c, const Step& step) {
  if (c->left == 0) return;
  const char* from = c->from;
  std::uint32_t* to = c->to;
  store_words(to, step.template words<kWhat>(from, c->second));
  store_words(to + 16, step.template words<kWhat>(from + c->other, c->second));
  --c->left;
  const bool ends = --c->in_run == 0;
  c->from = from + (ends ? c->jump : c->next);
  c->to = to + (ends ? c->to_jump : c->to_next);
  if (ends) c->in_run = c->run;
}

constexpr std::int64_t kBurst = kInBursts ? 16 : 4;

// One tile: kRows × 16 kVectors sums, held in registers over all steps.
// 1. The sums start from t.start, or from +0.
// 2. Bursts of steps; between two bursts the tile prefetches a row of C, what its Fetches say, and
//    converts 32 words (kWhat).
// 3. t.add is added, and the sums are finished and stored.
// step(a, b, c): c with one step added. kPanel: vectors of a panel. kRow, kStep: words of `a` from
// one row to the next, and from one step to the next.
template <int kRows, int kVectors, int kPanel, int kRow, int kStep, Converts kWhat, class Step>
NB_OP void tile_sums(const GemmTile& t, const Step& step) {
  Floats acc[kRows][kVectors];
  if (t.start != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) acc[r][v] = load(t.start + r * t.start_stride + 16 * v);
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) acc[r][v] = all(0.0f);
    }
  }
  const std::uint32_t* a = t.a;
  const float* b = reinterpret_cast<const float*>(t.b);
  const std::int64_t panel = t.b_panel;
  // The lines of C are prefetched one row per burst: all at once they would delay the lines of B.
  const float* line = t.out;
  int rows_left = kRows;
  const auto ask_for_row = [&] {
    --rows_left;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(line + 16 * v, 1);
    line += t.out_stride;
  };
  if constexpr (kInBursts) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) ask_for_row();
  }
  Walk walks[kFetches] = {walk_of(t.fetch[0]), walk_of(t.fetch[1])};
  const auto add_step = [&](std::int64_t s) __attribute__((always_inline)) {
    Bits bv[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      bv[v] = bits(load(b + s * 16 * kPanel + (v / kPanel) * panel + 16 * (v % kPanel)));
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Bits av = all_bits_at(a + s * kStep + r * kRow);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) acc[r][v] = step(av, bv[v], acc[r][v]);
    }
  };
  const bool asks = walks[0].at != nullptr || walks[1].at != nullptr;
  const std::int64_t burst = kInBursts && !asks ? t.steps : kBurst;
  for (std::int64_t left = t.steps; left > 0; left -= burst) {
    if (!kInBursts && rows_left > 0) ask_for_row();
    if constexpr (kWhat == Converts::kAcross) {
      // One prefetch instruction serves both. Two of them, each with a stride of its own, would
      // make the processor fetch far beyond the short runs of such sources.
#pragma GCC unroll 1
      for (int f = 0; f < kFetches; ++f) {
        asm volatile("" : "+r"(f));
        walks[f].ask(t.fetch[f]);
      }
    } else {
      walks[0].ask(t.fetch[0]);
      walks[1].ask(t.fetch[1]);
    }
    if constexpr (kWhat != Converts::kNothing) convert<kWhat>(t.conversion, step);
    std::int64_t count = left < burst ? left : burst;
    if constexpr (kInBursts) {
      for (; count >= 4; count -= 4) {
#pragma GCC unroll 4
        for (int s = 0; s < 4; ++s) add_step(s);
        a += 4 * kStep;
        b += 4 * 16 * kPanel;
      }
    }
    for (; count > 0; --count) {
      add_step(0);
      a += kStep;
      b += 16 * kPanel;
    }
  }
  keep(walks[0], t.fetch[0]);
  keep(walks[1], t.fetch[1]);
  if (t.add != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        acc[r][v] = load(t.add + r * t.add_stride + 16 * v) + acc[r][v];
      }
    }
  }
  float* const out = t.out;
  const std::int64_t stride = t.out_stride;
  const auto put = [&](const auto& finished) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        float* const to = out + r * stride + 16 * v;
        store(to, finished(acc[r][v], to));
      }
    }
  };
  const Floats zero = all(0.0f);
  switch (t.finish) {
    case kFinishRaw:
      return put([](Floats x, const float*) { return x; });
    case kFinishFp32:
      return put([&](Floats x, const float*) { return x + zero; });
    case kFinishFp32Add:
      return put([&](Floats x, const float* at) { return load(at) + (x + zero); });
    default:
      break;
  }
  const bool adds = t.finish == kFinishBf16Add;
  if constexpr (Step::kRoundsPairs && kVectors % 2 == 0) {
    if (!Step::has_nan(acc)) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        round_normal<kRoundBf16>(acc[r]);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          float* const to = out + r * stride + 16 * v;
          store(to, adds ? load(to) + acc[r][v] : acc[r][v]);
        }
      }
      return;
    }
  }
  if (adds) {
    return put([&](Floats x, const float* at) { return load(at) + rounded<kRoundBf16>(x + zero); });
  }
  put([&](Floats x, const float*) { return rounded<kRoundBf16>(x + zero); });
}

// Tile sizes of a level; and the tile for rows and vectors that are known at run time. Step is a
// type with operator().
#if NB_LEVEL_ID == NB_LEVEL_AVX512 || NB_LEVEL_ID == NB_LEVEL_AVX512BF16
constexpr int kGemmRows = 12, kGemmPanel = 2;
constexpr int kGemmVectors[13] = {0, 8, 8, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2};
#else
constexpr int kGemmRows = NB_LEVEL_ID == NB_LEVEL_SCALAR ? 4 : 6, kGemmPanel = 1;
constexpr int kGemmVectors[13] = {0, 4, 2, 2, 1, 1, 1};
#endif

template <class Step, int kRows, int kVectors, bool kTransposed>
void tile_of(const GemmTile& t) {
  constexpr int kRow = kTransposed ? 1 : static_cast<int>(kGemmRowWords);
  constexpr int kStep = kTransposed ? 16 * kGemmPanel : 1;
  if constexpr (Step::kConverts && !kTransposed && kRows >= kMinConvertingRows) {
    switch (t.conversion == nullptr ? Converts::kNothing : t.conversion->what) {
      case Converts::kNothing:
        break;
      case Converts::kAcross:
        return tile_sums<kRows, kVectors, kGemmPanel, kRow, kStep, Converts::kAcross>(t, Step());
      case Converts::kAlong:
        return tile_sums<kRows, kVectors, kGemmPanel, kRow, kStep, Converts::kAlong>(t, Step());
      case Converts::kBf16Along:
        return tile_sums<kRows, kVectors, kGemmPanel, kRow, kStep, Converts::kBf16Along>(t, Step());
    }
  }
  tile_sums<kRows, kVectors, kGemmPanel, kRow, kStep, Converts::kNothing>(t, Step());
}

template <class Step, bool kTransposed, int kRows = kGemmRows>
NB_OP void tile_by_size(int rows, int vectors, const GemmTile& t) {
  if constexpr (kRows >= 1) {
    if (rows != kRows) return tile_by_size<Step, kTransposed, kRows - 1>(rows, vectors, t);
    if constexpr (!kTransposed && kGemmVectors[kRows] > kGemmPanel) {
      if (vectors == kGemmVectors[kRows]) {
        return tile_of<Step, kRows, kGemmVectors[kRows], kTransposed>(t);
      }
    }
    if constexpr (kGemmPanel > 1) {
      if (vectors == kGemmPanel) return tile_of<Step, kRows, kGemmPanel, kTransposed>(t);
    }
    tile_of<Step, kRows, 1, kTransposed>(t);
  }
}

// The chains of a whole tile without loads, so that nothing but the arithmetic units can limit it.
template <class Step>
NB_OP void spin_loop(std::int64_t steps, float* values, const Step& step) {
  constexpr int kRows = kGemmRows, kVectors = kGemmPanel;
  Floats acc[kRows][kVectors];
  const Bits x = bits(load(values));
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[r][v] = all(static_cast<float>(r * kVectors + v));
  }
  for (std::int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[r][v] = step(x, x, acc[r][v]);
    }
  }
  Floats sum = all(0.0f);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum = sum + acc[r][v];
  }
  store(values, sum);
}

NB_LOCAL_END
