#include "model/collectives/ring_order.hpp"

#include <numeric>
#include <utility>

#include "harness/base/rng.hpp"

namespace nb {
namespace {

float larger(float a, float b) {
  if (a != a) return a;
  if (b != b) return b;
  return a < b ? b : a;
}

}  // namespace

Piece piece_of(std::int64_t count, int rank, int ranks) {
  return {count * rank / ranks, count * (rank + 1) / ranks};
}

std::vector<int> summation_order(ReductionOrder order, int piece, int ranks, std::uint64_t seed,
                                 std::uint64_t sequence) {
  std::vector<int> ordered(static_cast<std::size_t>(ranks));
  std::iota(ordered.begin(), ordered.end(), 0);
  switch (order) {
    case ReductionOrder::kRing:
      for (int i = 0; i < ranks; ++i)
        ordered[static_cast<std::size_t>(i)] = (piece + 1 + i) % ranks;
      break;
    case ReductionOrder::kMesh:
      break;
    case ReductionOrder::kUnordered: {
      const Rng rng(seed, "collectives/order", sequence);
      const std::uint64_t first = static_cast<std::uint64_t>(piece) * ordered.size();
      for (std::size_t i = ordered.size(); i > 1; --i) {
        std::swap(ordered[i - 1], ordered[rng.below(first + i - 1, i)]);
      }
      break;
    }
  }
  return ordered;
}

Averaging averaging_of(std::string_view library) {
  return library == "nccl" ? Averaging::kPreMultiply : Averaging::kDivide;
}

void reduce_in_order(std::span<const std::span<const float>> inputs, std::span<const int> order,
                     Reduce op, DType dtype, std::span<float> out, Averaging averaging) {
  const auto ranks = static_cast<float>(inputs.size());
  const bool pre_multiplies = op == Reduce::kAverage && averaging == Averaging::kPreMultiply;
  const float share = round_to(dtype, 1 / ranks);
  const auto operand = [&](std::size_t r, std::size_t i) {
    const float value = round_to(dtype, inputs[static_cast<std::size_t>(order[r])][i]);
    return pre_multiplies ? round_to(dtype, value * share) : value;
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    float sum = operand(0, i);
    for (std::size_t r = 1; r < order.size(); ++r) {
      const float value = operand(r, i);
      sum = op == Reduce::kMax ? larger(sum, value) : round_to(dtype, sum + value);
    }
    out[i] = op == Reduce::kAverage && !pre_multiplies ? round_to(dtype, sum / ranks) : sum;
  }
}

}  // namespace nb
