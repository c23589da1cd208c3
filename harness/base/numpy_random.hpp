// numpy's default_rng(seed) bit for bit: SeedSequence, PCG64 (XSL-RR 128/64), permutation by masked
// rejection. numpy/random/bit_generator.pyx, src/pcg64, _generator.pyx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nb {

class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint64_t seed);

  std::uint64_t next_uint64();
  std::uint32_t next_uint32();  // low half first, high half buffered
  double random();
  std::vector<std::size_t> permutation(std::size_t n);

 private:
  __extension__ using Word = unsigned __int128;
  Word state_ = 0;
  Word increment_ = 0;
  bool has_buffered_ = false;
  std::uint32_t buffered_ = 0;
};

}  // namespace nb
