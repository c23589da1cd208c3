#include "harness/base/cpython_hash.hpp"

#include <bit>

namespace nb {

std::uint64_t cpython_tuple_hash(std::span<const std::uint64_t> items) {
  constexpr std::uint64_t kPrime1 = 11400714785074694791U, kPrime2 = 14029467366897019727U,
                          kPrime5 = 2870177450012600261U, kLength = 3527539U;
  std::uint64_t sum = kPrime5;
  for (const std::uint64_t item : items) {
    sum += item * kPrime2;
    sum = std::rotl(sum, 31) * kPrime1;
  }
  return sum + (items.size() ^ (kPrime5 ^ kLength));
}

}  // namespace nb
