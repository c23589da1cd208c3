// CPython's hash of a tuple of small integers, which nanochat seeds its rollouts with.
#pragma once

#include <cstdint>
#include <span>

namespace nb {

// hash((a, b, …)) of CPython 3.8 and later on 64 bits, for integers in [0, 2^61 - 1), which hash to
// themselves. Objects/tupleobject.c: xxHash's rounds.
std::uint64_t cpython_tuple_hash(std::span<const std::uint64_t> items);

}  // namespace nb
