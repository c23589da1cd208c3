// The arithmetic of a reduction over ranks: which piece is summed in which order, with which
// roundings. A result is a function of the ranks' values alone, never of who arrived first. Pure
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/device/numerics.hpp"

namespace nb {

// Elements [begin, end) of `count` that rank r of p sums: [count × r / p, count × (r + 1) / p).
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
Piece piece_of(std::int64_t count, int rank, int ranks);

// Ranks in the order in which piece `piece` adds them. ring: piece + 1, piece + 2, …, piece (a ring
// reduce-scatter that ends at its owner); mesh: 0, 1, 2, …; unordered: a permutation drawn from
// (seed, sequence, piece).
std::vector<int> summation_order(ReductionOrder order, int piece, int ranks, std::uint64_t seed,
                                 std::uint64_t sequence);

// How a library averages over p ranks. Equal bits where p is a power of two.
enum class Averaging : std::uint8_t {
  kDivide,       // the sum, by p. HCCL: Ascend/pytorch turns an average into a sum and a division
  kPreMultiply,  // every operand by 1/p, before the sum. NCCL: enqueue.cc, hostToDevRedOp
};
Averaging averaging_of(std::string_view library);  // "nccl", "hccl", …; others divide

// out[i] = x_order[0][i] ⊕ x_order[1][i] ⊕ …, every operand and partial result rounded to dtype.
// kAverage multiplies every operand by 1/p, itself rounded to dtype, or divides the sum by p, and
// rounds. kMax compares and selects; a NaN wins, as 7fc00000. out may lie in one of the inputs, at
// its own elements.
void reduce_in_order(std::span<const std::span<const float>> inputs, std::span<const int> order,
                     Reduce op, DType dtype, std::span<float> out,
                     Averaging averaging = Averaging::kDivide);

}  // namespace nb
