// Random numbers that are functions of (seed, purpose, step, index): Philox4x32-10 (Salmon et al.
// 2011) keyed by SHA-256 of seed and purpose. No state, so threads, order and resume cannot change
// a draw. Generators of CPython and numpy, where a reference's order matters: cpython_random.hpp,
// numpy_random.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nb {

// Random123's philox4x32 with 10 rounds; its known-answer vectors are in the test.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

class Rng {
 public:
  // purpose names what is drawn ("init/transformer.wte.weight"), step the training or sampling
  // step.
  Rng(std::uint64_t seed, std::string_view purpose, std::uint64_t step = 0);

  std::uint64_t bits(std::uint64_t index) const;  // 64 uniform bits
  double uniform(std::uint64_t index) const;      // [0, 1), 53 bits
  std::uint64_t below(std::uint64_t index,
                      std::uint64_t n) const;  // [0, n), n >= 1; multiply-shift on 128 bits
  // N(0, 1): Box–Muller on portable_math's double log, sqrt, sin, cos; draws 2i and 2i+1 share a
  // block.
  double normal(std::uint64_t index) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t step_;
};

}  // namespace nb
