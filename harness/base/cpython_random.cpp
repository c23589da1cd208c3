#include "harness/base/cpython_random.hpp"

#include <bit>
#include <set>

#include "harness/base/check.hpp"

namespace nb {

namespace {

constexpr std::size_t kStateSize = 624;
constexpr std::size_t kShift = 397;

}  // namespace

// Modules/_randommodule.c, init_genrand and init_by_array (Matsumoto and Nishimura's mt19937ar.c).
CPythonRandom::CPythonRandom(std::uint64_t seed) {
  std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(seed)};
  if (seed >> 32 != 0) key.push_back(static_cast<std::uint32_t>(seed >> 32));
  state_[0] = 19650218U;
  for (std::uint32_t i = 1; i < kStateSize; ++i)
    state_[i] = 1812433253U * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
  std::size_t i = 1;
  std::size_t j = 0;
  const auto advance = [&] {
    if (++i < kStateSize) return;
    state_[0] = state_[kStateSize - 1];
    i = 1;
  };
  for (std::size_t n = 0; n < kStateSize; ++n) {
    state_[i] = (state_[i] ^ (state_[i - 1] ^ state_[i - 1] >> 30) * 1664525U) + key[j] +
                static_cast<std::uint32_t>(j);
    advance();
    j = (j + 1) % key.size();
  }
  for (std::size_t n = 1; n < kStateSize; ++n) {
    state_[i] = (state_[i] ^ (state_[i - 1] ^ state_[i - 1] >> 30) * 1566083941U) -
                static_cast<std::uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000U;
}

std::uint32_t CPythonRandom::next_uint32() {
  if (position_ == kStateSize) {
    for (std::size_t i = 0; i < kStateSize; ++i) {
      const std::uint32_t y =
          (state_[i] & 0x80000000U) | (state_[(i + 1) % kStateSize] & 0x7fffffffU);
      state_[i] = state_[(i + kShift) % kStateSize] ^ y >> 1 ^ (y % 2 != 0 ? 0x9908b0dfU : 0U);
    }
    position_ = 0;
  }
  std::uint32_t y = state_[position_++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680U;
  y ^= y << 15 & 0xefc60000U;
  return y ^ y >> 18;
}

double CPythonRandom::random() {
  const std::uint32_t high = next_uint32() >> 5;
  const std::uint32_t low = next_uint32() >> 6;
  return (high * 67108864.0 + low) * 0x1p-53;
}

std::uint64_t CPythonRandom::below(std::uint64_t n) {
  NB_CHECK(n >= 1, "[cpython_random] below(0)");
  const int bits = static_cast<int>(std::bit_width(n));
  for (;;) {
    // getrandbits: 32 bits at a time, least significant first, the last word from its high bits.
    std::uint64_t value = next_uint32() >> (bits >= 32 ? 0 : 32 - bits);
    if (bits > 32) value |= std::uint64_t{next_uint32() >> (64 - bits)} << 32;
    if (value < n) return value;
  }
}

std::vector<std::size_t> CPythonRandom::shuffled(std::size_t size) {
  std::vector<std::size_t> order(size);
  for (std::size_t i = 0; i < size; ++i) order[i] = i;
  for (std::size_t i = size; i-- > 1;) std::swap(order[i], order[below(i + 1)]);
  return order;
}

std::vector<std::size_t> CPythonRandom::sample(std::size_t population, std::size_t k) {
  NB_CHECK(k <= population, "[cpython_random] sample of {} from {}", k, population);
  // Lib/random.py: a set needs more room than a list of `set_size`; the choice changes the draws.
  std::size_t set_size = 21;
  if (k > 5) {
    std::size_t power = 1;  // 4^ceil(log_4(3k))
    while (power < 3 * k) power *= 4;
    set_size += power;
  }
  std::vector<std::size_t> drawn;
  if (population <= set_size) {
    std::vector<std::size_t> pool(population);
    for (std::size_t i = 0; i < population; ++i) pool[i] = i;
    for (std::size_t i = 0; i < k; ++i) {
      const std::size_t j = below(population - i);
      drawn.push_back(pool[j]);
      pool[j] = pool[population - i - 1];
    }
    return drawn;
  }
  std::set<std::size_t> seen;
  while (drawn.size() < k)
    if (const std::size_t j = below(population); seen.insert(j).second) drawn.push_back(j);
  return drawn;
}

}  // namespace nb
