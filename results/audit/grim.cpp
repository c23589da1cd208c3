#include "results/audit/grim.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "results/audit/known_tasks.hpp"

namespace nb {
namespace {

// Of the arithmetic in doubles: (accuracy - guessing) / (1 - guessing) and the printed value read
// back are off by a few units of 1.1e-16, at most 1 / .38 times (boolq).
constexpr double kRounding = 4e-15;
// Two roundings to fp32 move a share of at most 1 by less than this: where to look for k.
constexpr double kOfFp32 = 1.2e-7;
constexpr std::int64_t kMostLimit = 2000;  // items per task in evaluations that are cut
constexpr double kByChance = .01;

// Accuracy times n, as a real number.
double answers_at(double value, double guessing, std::int64_t n) {
  return (value * (1 - guessing) + guessing) * static_cast<double>(n);
}

// k/n as programs hold it before they print: a quotient of doubles (nanochat's chat_eval.py); the
// mean of fp32 scores (core_eval.py @ 3a5e0bc: torch.zeros(len(data), dtype=torch.float32).mean()),
// which divides the sum on a CPU and multiplies it by fp32(1/n) on CUDA (pytorch
// aten/src/ATen/native/cuda/ReduceMomentKernel.cu, MeanOps). The sum of fp32 scores is exact.
std::array<double, 3> shares_held(std::int64_t k, std::int64_t n) {
  const auto right = static_cast<float>(k), items = static_cast<float>(n);
  const float divided = right / items, inverse = 1.0F / items;
  const float multiplied = right * inverse;
  return {static_cast<double>(k) / static_cast<double>(n), static_cast<double>(divided),
          static_cast<double>(multiplied)};
}

bool is_printed_so(const PrintedShare& share, double accuracy) {
  const double shown = (accuracy - share.guessing) / (1 - share.guessing);
  return std::abs(shown - share.value) <= share.half_unit + kRounding;
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
  return {cell.score.value, cell.score.half_unit, guessing};
}

std::vector<std::int64_t> right_answers(const PrintedShare& share, std::int64_t n) {
  const double reach = share.half_unit + kOfFp32 / (1 - share.guessing);
  const double low = answers_at(share.value - reach, share.guessing, n);
  const double high = answers_at(share.value + reach, share.guessing, n);
  const auto most = static_cast<double>(n);
  const auto first = static_cast<std::int64_t>(std::clamp(std::ceil(low), 0., most + 1));
  const auto last = static_cast<std::int64_t>(std::clamp(std::floor(high), -1., most));
  std::vector<std::int64_t> answers;
  for (std::int64_t k = first; k <= last && answers.size() < 16; ++k)
    if (std::ranges::any_of(shares_held(k, n),
                            [&](double held) { return is_printed_so(share, held); }))
      answers.push_back(k);
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
