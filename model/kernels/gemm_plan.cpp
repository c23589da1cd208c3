#include "model/kernels/gemm_plan.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kTaskRows = 96;      // their words and sums stay in L2
constexpr std::int64_t kTaskColumns = 512;  // where sums of all of them must be kept
constexpr std::int64_t kFewestTasks = 16;   // cut by shape, never by thread count
constexpr std::int64_t kFewestTurnedTasks = 8;
constexpr double kLeastTaskFlop = 4e6;  // below, starting a task costs more than it saves

// Values of k whose chain starts from +0; the parts' sums are added in order.
std::int64_t part_length(const MatmulPolicy& policy, std::int64_t k) {
  switch (policy.accumulation) {
    case Accumulation::kBlock16:
      return 16;
    case Accumulation::kSplitK:
      NB_CHECK(policy.split_k >= 1, "[matmul] split_k is {}, not >= 1", policy.split_k);
      return std::max<std::int64_t>(16, round_up(ceil_div(k, policy.split_k), 16));
    case Accumulation::kChain:
    case Accumulation::kHostBlas:
      break;
  }
  return std::max<std::int64_t>(k, 1);
}

}  // namespace

std::vector<GemmPiece> gemm_pieces(const MatmulPolicy& policy, const GemmFormat& format,
                                   std::int64_t k) {
  const std::int64_t steps = format.steps(k);
  const std::int64_t part = format.steps(part_length(policy, k));
  std::vector<GemmPiece> pieces;
  for (std::int64_t first = 0; first < steps;) {
    const std::int64_t part_end = std::min(steps, (first / part + 1) * part);
    const std::int64_t end =
        std::min(part_end, (first / inner::kGemmSteps + 1) * inner::kGemmSteps);
    pieces.push_back({first, end - first, first % part == 0, end == part_end});
    first = end;
  }
  return pieces;
}

GemmGrid gemm_grid(const GemmShape& shape, bool keeps_sums, bool is_turned) {
  GemmGrid grid = {ceil_div(shape.m, ceil_div(shape.m, kTaskRows)),
                   round_up(keeps_sums ? std::min(shape.n, kTaskColumns) : shape.n, 32)};
  const double flop_per_value = 2.0 * static_cast<double>(shape.k);
  const auto tasks = [&] { return ceil_div(shape.m, grid.rows) * ceil_div(shape.n, grid.columns); };
  const std::int64_t fewest = is_turned ? kFewestTurnedTasks : kFewestTasks;
  const std::int64_t narrow = is_turned ? 256 : 64, low = is_turned ? 24 : 32;
  while (tasks() < fewest &&
         static_cast<double>(grid.rows * grid.columns) * flop_per_value > 2.0 * kLeastTaskFlop) {
    if (grid.columns >= 2 * narrow) {
      grid.columns = round_up(grid.columns / 2, 32);
    } else if (grid.rows >= 2 * low) {
      grid.rows = ceil_div(grid.rows, 2);
    } else {
      break;
    }
  }
  return grid;
}

}  // namespace nb::kernels
