// CPython's random.Random(int) bit for bit: MT19937, randbelow, shuffle, sample, random().
// CPython's Lib/random.py and Modules/_randommodule.c. Used where a reference's order matters
// (few-shot draws, shuffles).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nb {

class CPythonRandom {
 public:
  explicit CPythonRandom(std::uint64_t seed);  // init_by_array of the seed's 32-bit words

  std::uint32_t next_uint32();
  double random();                       // 53 bits, as Random.random()
  std::uint64_t below(std::uint64_t n);  // _randbelow_with_getrandbits, n >= 1
  // Random.shuffle on a list of that size: the order in which the original elements then stand.
  std::vector<std::size_t> shuffled(std::size_t size);
  // Random.sample(range(population), k): k <= population is an NB_CHECK.
  std::vector<std::size_t> sample(std::size_t population, std::size_t k);

 private:
  std::array<std::uint32_t, 624> state_{};
  std::size_t position_ = 624;
};

}  // namespace nb
