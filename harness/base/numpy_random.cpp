#include "harness/base/numpy_random.hpp"

#include <array>
#include <bit>
#include <utility>

namespace nb {

namespace {

// numpy/random/bit_generator.pyx, SeedSequence with a pool of four words (O'Neill's seed_seq_fe).
std::array<std::uint64_t, 4> seed_words(std::uint64_t seed) {
  std::array<std::uint32_t, 4> pool{};
  std::uint32_t hash_constant = 0x43b0d7e5U;
  const auto hash_mix = [&hash_constant](std::uint32_t value) {
    value ^= hash_constant;
    hash_constant *= 0x931e8875U;
    value *= hash_constant;
    return value ^ value >> 16;
  };
  const auto mix = [](std::uint32_t x, std::uint32_t y) {
    const std::uint32_t result = 0xca01f9ddU * x - 0x4973f715U * y;
    return result ^ result >> 16;
  };
  // Words past the entropy are hashed as zeros, so a one-word seed needs no case of its own.
  const std::array<std::uint32_t, 4> entropy = {static_cast<std::uint32_t>(seed),
                                                static_cast<std::uint32_t>(seed >> 32), 0, 0};
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = hash_mix(entropy[i]);
  for (std::size_t from = 0; from < pool.size(); ++from)
    for (std::size_t to = 0; to < pool.size(); ++to)
      if (from != to) pool[to] = mix(pool[to], hash_mix(pool[from]));

  std::array<std::uint64_t, 4> words{};
  std::uint32_t constant = 0x8b51f9ddU;
  for (std::size_t i = 0; i < 8; ++i) {
    std::uint32_t value = pool[i % pool.size()];
    value ^= constant;
    constant *= 0x58f38dedU;
    value *= constant;
    value ^= value >> 16;
    words[i / 2] |= std::uint64_t{value} << (i % 2 == 0 ? 0 : 32);
  }
  return words;
}

}  // namespace

NumpyRandom::NumpyRandom(std::uint64_t seed) {
  const auto words = seed_words(seed);
  const Word start = Word{words[0]} << 64 | words[1];
  increment_ = (Word{words[2]} << 64 | words[3]) << 1 | 1;
  next_uint64();  // state = 0, then one step
  state_ += start;
  next_uint64();
}

std::uint64_t NumpyRandom::next_uint64() {
  constexpr Word kMultiplier = Word{2549297995355413924ULL} << 64 | 4865540595714422341ULL;
  state_ = state_ * kMultiplier + increment_;
  const auto folded = static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
  return std::rotr(folded, static_cast<int>(state_ >> 122));
}

std::uint32_t NumpyRandom::next_uint32() {
  if (has_buffered_) {
    has_buffered_ = false;
    return buffered_;
  }
  const std::uint64_t both = next_uint64();
  has_buffered_ = true;
  buffered_ = static_cast<std::uint32_t>(both >> 32);
  return static_cast<std::uint32_t>(both);
}

double NumpyRandom::random() { return static_cast<double>(next_uint64() >> 11) * 0x1p-53; }

std::vector<std::size_t> NumpyRandom::permutation(std::size_t n) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  for (std::size_t i = n; i-- > 1;) {
    const std::uint64_t mask = (std::uint64_t{1} << std::bit_width(i)) - 1;  // i < 2^63
    std::uint64_t j = 0;
    do {  // legacy random_interval: 32 bits where they are enough
      j = (i <= 0xffffffffU ? next_uint32() : next_uint64()) & mask;
    } while (j > i);
    std::swap(order[i], order[j]);
  }
  return order;
}

}  // namespace nb
