#include "model/kernels/gemm_plan.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kTaskRows = 96;            // their words and sums stay in L2
constexpr std::int64_t kTaskColumns = 512;        // where sums of all of them must be kept
constexpr std::int64_t kTransposedColumns = 768;  // more: rows are transposed less often
constexpr std::int64_t kTransposedRows[] = {kTaskRows, 64};
constexpr std::int64_t kMinTasks = 16;  // cut by shape, never by thread count
constexpr std::int64_t kMinTransposedTasks = 4;
constexpr std::int64_t kMinLowerRows = 48;  // a triangle's rows differ in length
constexpr std::int64_t kHalvedRows = 32;    // from here on, rows of one task alone become two tasks
constexpr std::int64_t kMaxStages = 4;   // of a task's rows, one converted while one is multiplied
constexpr std::int64_t kPieceRows = 24;  // two tiles; the last tasks have few of them
constexpr std::int64_t kMinPieces = 16;
constexpr std::int64_t kReadingRows = 4;  // fewer rows take as long: the panels are to be read
constexpr double kMinSharedFlop = 4e5;    // of two tasks
constexpr double kMinTaskFlop = 4e6;      // below, starting a task costs more than it saves

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

namespace {

// A transposed task owns all steps of its sums. Rows that divide m, and columns spread evenly:
// tasks of one size end together.
GemmGrid transposed_grid(const GemmShape& shape) {
  const std::int64_t columns = ceil_div(shape.n, ceil_div(shape.n, kTransposedColumns));
  GemmGrid grid = {kTaskRows, round_up(columns, 32)};
  const auto tasks = [&] { return ceil_div(shape.m, grid.rows) * ceil_div(shape.n, grid.columns); };
  for (const std::int64_t rows : kTransposedRows) {
    if ((shape.m_each == 0 ? shape.m : shape.m_each) % rows != 0) continue;
    grid.rows = rows;
    if (tasks() >= kMinTransposedTasks) break;
  }
  if (tasks() < kMinTransposedTasks && grid.columns > 256) grid.columns = 256;
  grid.stage_rows = grid.rows;
  return grid;
}

// Rows enough for every thread: a task takes several pieces, the last ones few.
GemmGrid tall_grid(const GemmShape& shape) {
  const std::int64_t stages =
      std::clamp<std::int64_t>(shape.m / kTaskRows / kMinTasks, 1, kMaxStages);
  return {kPieceRows, round_up(shape.n, 32), stages * kTaskRows / kPieceRows, kTaskRows};
}

}  // namespace

bool may_stand_in_a_column(std::int64_t rows) {
  return std::ranges::any_of(kTransposedRows, [&](std::int64_t task) { return rows % task == 0; });
}

GemmGrid gemm_grid(const GemmShape& shape, bool keeps_sums, bool is_transposed, bool is_lower) {
  if (is_transposed) return transposed_grid(shape);
  const std::int64_t columns = round_up(keeps_sums ? std::min(shape.n, kTaskColumns) : shape.n, 32);
  if (!is_lower && columns >= shape.n && shape.m >= kMinPieces * kPieceRows)
    return tall_grid(shape);
  GemmGrid grid = {ceil_div(shape.m, ceil_div(shape.m, kTaskRows)), columns};
  // A token of each sequence: half of the rows per task, so that two threads keep to the rows whose
  // norms and attention they compute, and words are made half as often.
  if (shape.m >= kHalvedRows && shape.m <= kTaskRows) grid.rows = ceil_div(shape.m, 2);
  const double flop_per_value = 2.0 *
                                static_cast<double>(shape.k * std::max(shape.m, kReadingRows)) /
                                static_cast<double>(shape.m);
  const auto tasks = [&] { return ceil_div(shape.m, grid.rows) * ceil_div(shape.n, grid.columns); };
  const auto is_worth_two = [&] {
    const double flop = static_cast<double>(grid.rows * grid.columns) * flop_per_value;
    return flop > (tasks() == 1 ? kMinSharedFlop : 2.0 * kMinTaskFlop);
  };
  while (tasks() < kMinTasks && is_worth_two()) {
    if (is_lower && grid.rows > kMinLowerRows) {
      grid.rows = ceil_div(grid.rows, 2);
    } else if (grid.columns > 128) {
      grid.columns = round_up(grid.columns / 2, 32);
    } else if (grid.rows > 64) {
      grid.rows = ceil_div(grid.rows, 2);
    } else {
      break;
    }
  }
  const std::int64_t stages =
      std::clamp<std::int64_t>(ceil_div(shape.m, grid.rows) / kMinTasks, 1, kMaxStages);
  const std::int64_t tasks_down = ceil_div(shape.m, grid.rows * stages);
  grid.stage_rows = ceil_div(shape.m, tasks_down * stages);  // the last task as large as others
  grid.rows = grid.stage_rows * stages;
  return grid;
}

}  // namespace nb::kernels
