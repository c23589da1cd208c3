#include "model/collectives/ring_order.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "harness/base/rng.hpp"
#include "model/kernels/elementwise.hpp"

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

namespace {

// So many elements are summed at once: they and an operand stay in the nearest cache.
constexpr std::size_t kBlock = 2048;

// In fp32 NaNs are made canonical at the end: one that comes in goes through every sum.
void reduce_block(std::span<const std::span<const float>> inputs, std::span<const int> order,
                  Reduce op, DType dtype, std::size_t begin, std::span<float> out,
                  Averaging averaging) {
  std::array<float, kBlock> sum_values, operand_values;
  const std::span<float> sum = std::span(sum_values).first(out.size()),
                         room = std::span(operand_values).first(out.size());
  const auto ranks = static_cast<float>(inputs.size());
  const bool pre_multiplies = op == Reduce::kAverage && averaging == Averaging::kPreMultiply;
  const float share = round_to(dtype, 1 / ranks);
  const auto operand = [&](std::size_t r) -> std::span<const float> {
    const auto values = inputs[static_cast<std::size_t>(order[r])].subspan(begin, out.size());
    if (dtype == DType::kFp32 && !pre_multiplies) return values;
    kernels::cast(values, room, dtype);
    if (pre_multiplies) {
      kernels::scale(room, share);
      kernels::cast(room, room, dtype);
    }
    return room;
  };
  std::ranges::copy(operand(0), sum.begin());
  for (std::size_t r = 1; r < order.size(); ++r) {
    const std::span<const float> values = operand(r);
    if (op == Reduce::kMax)
      std::ranges::transform(sum, values, sum.begin(), larger);
    else
      kernels::add(sum, values, sum, dtype);
  }
  if (op == Reduce::kAverage && !pre_multiplies) kernels::divide(sum, ranks, dtype);
  const float nan = canonical(std::numeric_limits<float>::quiet_NaN());
  std::ranges::transform(sum, out.begin(), [nan](float x) { return x != x ? nan : x; });
}

}  // namespace

void reduce_in_order(std::span<const std::span<const float>> inputs, std::span<const int> order,
                     Reduce op, DType dtype, std::span<float> out, Averaging averaging) {
  for (std::size_t begin = 0; begin < out.size(); begin += kBlock)
    reduce_block(inputs, order, op, dtype, begin,
                 out.subspan(begin, std::min(kBlock, out.size() - begin)), averaging);
}

}  // namespace nb
