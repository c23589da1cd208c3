#include "results/audit/grim.hpp"

#include <algorithm>
#include <cmath>

#include "results/audit/known_tasks.hpp"

namespace nb {
namespace {

constexpr double kRounding = 1e-9;         // of the arithmetic, far below any printed digit
constexpr double kFinest = 5e-7;           // digits beyond the sixth may be fp32's
constexpr std::int64_t kMostLimit = 2000;  // items a task in evaluations that are cut
constexpr double kByChance = .01;

// Accuracy times n, as a real number.
double answers_at(double value, double guessing, std::int64_t n) {
  return (value * (1 - guessing) + guessing) * static_cast<double>(n);
}

struct Limited {
  PrintedShare share;
  std::int64_t items;
};
std::vector<Limited> counted_cells(const ReportedStage& stage) {
  std::vector<Limited> cells;
  for (const ReportedCell& cell : stage.cells)
    if (cell.counts_items && cell.n && cell.is_n_assumed &&
        (cell.scale == Scale::kAccuracy || cell.scale == Scale::kCentred))
      cells.push_back({share_of(cell), *cell.n});
  return cells;
}

bool all_fit(const std::vector<Limited>& cells, std::int64_t limit) {
  return std::ranges::all_of(cells, [&](const Limited& cell) {
    return !right_answers(cell.share, std::min(limit, cell.items)).empty();
  });
}

}  // namespace

PrintedShare share_of(const ReportedCell& cell) {
  const KnownTask* task = find_known_task(cell.task);
  const double guessing = cell.scale == Scale::kCentred && task != nullptr ? task->guessing : 0;
  return {cell.score.value, std::max(cell.score.half_unit, kFinest), guessing};
}

std::vector<std::int64_t> right_answers(const PrintedShare& share, std::int64_t n) {
  const double low = answers_at(share.value - share.half_unit - kRounding, share.guessing, n);
  const double high = answers_at(share.value + share.half_unit + kRounding, share.guessing, n);
  const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(low)));
  const auto last = std::min(n, static_cast<std::int64_t>(std::floor(high)));
  std::vector<std::int64_t> answers;
  for (std::int64_t k = first; k <= last && answers.size() < 16; ++k) answers.push_back(k);
  return answers;
}

double wanted_answers(const PrintedShare& share, std::int64_t n) {
  return answers_at(share.value, share.guessing, n);
}

std::vector<std::int64_t> possible_sizes(const PrintedShare& share, std::int64_t most,
                                         std::size_t limit) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 1; n <= most && sizes.size() < limit; ++n)
    if (!right_answers(share, n).empty()) sizes.push_back(n);
  return sizes;
}

double chance_of_share(const PrintedShare& share, std::int64_t n) {
  const double values = (1 / (1 - share.guessing)) / (2 * share.half_unit);
  return std::min(1.0, static_cast<double>(n + 1) / values);
}

std::int64_t common_limit(const ReportedStage& stage) {
  const std::vector<Limited> cells = counted_cells(stage);
  if (cells.empty() || all_fit(cells, INT64_MAX)) return 0;
  double expected = 0;  // limits up to here that would fit arbitrary numbers
  for (std::int64_t limit = 1; limit <= kMostLimit; ++limit) {
    double chance = 1;
    for (const Limited& cell : cells)
      chance *= chance_of_share(cell.share, std::min(limit, cell.items));
    expected += chance;
    if (expected > kByChance) return 0;
    if (all_fit(cells, limit)) return limit;
  }
  return 0;
}

}  // namespace nb
