// Packing of panels and chains over them.
#pragma once

#include "model/kernels/inner/vec.hpp"

NB_LOCAL_BEGIN

NB_OP void store_words(std::uint32_t* dst, Bits x, int count) {
  store_lanes(reinterpret_cast<float*>(dst), floats(x), count);
}

// Panels from a source whose k is contiguous: 16 × 16 blocks of words are turned. words(p, step):
// the 16 words of row p of the source from that step on, zero beyond its end.
template <class Words>
NB_OP void pack_turned(std::int64_t p_count, int width, std::int64_t steps, std::int64_t swap,
                       std::uint32_t* dst, const Words& words) {
  for (std::int64_t panel = 0; panel < p_count; panel += width) {
    for (int group = 0; group < width; group += 16) {
      const std::int64_t first = panel + group;
      const std::int64_t rows = p_count - first < 16 ? p_count - first : 16;
      const int used = width - group < 16 ? width - group : 16;
      for (std::int64_t step = 0; step < steps; step += 16) {
        Bits block[16];
#pragma GCC unroll 16
        for (int r = 0; r < 16; ++r) {
          block[r] = r < rows && r < used ? words(first + r, step) : all_bits(0u);
        }
        transpose(block);
        const int count = lanes_left(steps, step);
        for (int j = 0; j < count; ++j) {
          store_words(dst + ((step + j) ^ swap) * width + group, block[j], used);
        }
      }
    }
    dst += steps * width;
  }
}

// Panels from a source whose p is contiguous. words(p, lanes, step): `lanes` words of that step
// from p on. Steps go in blocks, so that what a row of the source shares with the next panel is
// still in L1.
template <class Words>
NB_OP void pack_straight(std::int64_t p_count, int width, std::int64_t steps, std::int64_t swap,
                         std::uint32_t* dst, const Words& words) {
  constexpr std::int64_t kStepsAtOnce = 16;
  for (std::int64_t begin = 0; begin < steps; begin += kStepsAtOnce) {
    const std::int64_t end = steps < begin + kStepsAtOnce ? steps : begin + kStepsAtOnce;
    std::uint32_t* out = dst;
    for (std::int64_t panel = 0; panel < p_count; panel += width) {
      for (int group = 0; group < width; group += 16) {
        const std::int64_t first = panel + group;
        const int used = width - group < 16 ? width - group : 16;
        const std::int64_t left = p_count - first < used ? p_count - first : used;
        for (std::int64_t step = begin; step < end; ++step) {
          const Bits x = left > 0 ? words(first, static_cast<int>(left), step) : all_bits(0u);
          store_words(out + (step ^ swap) * width + group, x, used);
        }
      }
      out += steps * width;
    }
  }
}

// Product::tile: 16 chains at a time. step(a, b, c) is one link of them.
template <class Step>
NB_OP void chain_by_chain(int width_a, int width_b, int rows, int vectors, std::int64_t steps,
                          const std::uint32_t* a, const std::uint32_t* b, float* c,
                          std::int64_t c_stride, int mode, const Step& step) {
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      float* const out = c + r * c_stride + 16 * v;
      Floats sum = mode == kTileContinue ? load(out) : all(0.0f);
      for (std::int64_t s = 0; s < steps; ++s) {
        const float* const values = reinterpret_cast<const float*>(b + s * width_b + 16 * v);
        sum = step(all_bits(a[s * width_a + r]), bits(load(values)), sum);
      }
      store(out, mode == kTileAdd ? load(out) + sum : sum);
    }
  }
}

// The chains of a whole tile without loads, so that nothing but the arithmetic units can limit it.
template <int kRows, int kVectors, class Step>
NB_OP void spin_loop(std::int64_t steps, float* values, const Step& step) {
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
