#include "harness/base/rng.hpp"

#include <fmt/core.h>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {

namespace {

__extension__ using Wide = unsigned __int128;

std::uint32_t word_of_hex(std::string_view eight_digits) {
  std::uint32_t word = 0;
  for (const char c : eight_digits)
    word = word << 4 | static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  return word;
}

struct Pair {
  std::uint64_t first;
  std::uint64_t second;
};

// The two 64-bit draws of block `block` of one step.
Pair block_at(std::uint64_t block, std::uint64_t step, std::array<std::uint32_t, 2> key) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto words = philox4x32({low(block), high(block), low(step), high(step)}, key);
  return {words[0] | std::uint64_t{words[1]} << 32, words[2] | std::uint64_t{words[3]} << 32};
}

double to_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xd2511f53U} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xcd9e8d57U} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9e3779b9U;
    key[1] += 0xbb67ae85U;
  }
  return counter;
}

Rng::Rng(std::uint64_t seed, std::string_view purpose, std::uint64_t step) : key_{}, step_(step) {
  const std::string digest = sha256_hex(fmt::format("npubench rng\n{}\n{}", seed, purpose));
  key_ = {word_of_hex(std::string_view(digest).substr(0, 8)),
          word_of_hex(std::string_view(digest).substr(8, 8))};
}

std::uint64_t Rng::bits(std::uint64_t index) const {
  const Pair pair = block_at(index / 2, step_, key_);
  return index % 2 == 0 ? pair.first : pair.second;
}

double Rng::uniform(std::uint64_t index) const { return to_unit(bits(index)); }

std::uint64_t Rng::below(std::uint64_t index, std::uint64_t n) const {
  NB_CHECK(n >= 1, "[rng] below(0)");
  return static_cast<std::uint64_t>(Wide{bits(index)} * n >> 64);
}

double Rng::normal(std::uint64_t index) const {
  const Pair pair = block_at(index / 2, step_, key_);
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = pm::sqrt(-2.0 * pm::log(to_unit(pair.first) + 0x1p-53));  // log of (0, 1]
  const double angle = kTwoPi * to_unit(pair.second);
  return radius * (index % 2 == 0 ? pm::cos(angle) : pm::sin(angle));
}

}  // namespace nb
