#include "results/audit/retention.hpp"

#include "harness/base/portable_math.hpp"
#include "results/audit/aggregates.hpp"
#include "results/audit/known_tasks.hpp"

namespace nb {
namespace {

// Katz et al. 1978: the logarithm of a ratio of two shares is nearly normal.
std::optional<Interval> ratio_interval(const ReportedCell& cell, const ReportedCell& against) {
  if (cell.scale != Scale::kAccuracy || !cell.n || !against.n) return std::nullopt;
  const double a = cell.score.value, b = against.score.value;
  if (a <= 0 || b <= 0) return std::nullopt;
  const double variance = (1 - a) / (a * static_cast<double>(*cell.n)) +
                          (1 - b) / (b * static_cast<double>(*against.n));
  const double spread = kZ95 * pm::sqrt(variance);
  return Interval{a / b * pm::exp(-spread), a / b * pm::exp(spread)};
}

bool is_above_guessing(const ReportedCell& cell) {
  const KnownTask* task = find_known_task(cell.task);
  if (task == nullptr || !cell.n) return true;
  const double accuracy = accuracy_of(cell);
  const double error =
      pm::sqrt(accuracy * (1 - accuracy) / static_cast<double>(*cell.n)) / (1 - task->guessing);
  return centred_of(cell) >= 2 * error;
}

}  // namespace

std::vector<Retention> retention_of(const ReportedRun& run, const ReportedRun& against) {
  std::vector<Retention> all;
  for (const ReportedStage& stage : against.stages) {
    const ReportedStage* other = run.stage(stage.name);
    if (other == nullptr) continue;
    for (const ReportedCell& cell : stage.cells) {
      const ReportedCell* kept = other->find(cell.task);
      if (kept == nullptr || cell.score.value == 0 || cell.scale == Scale::kOther) continue;
      Retention retention{stage.name, cell.label, kept->score.value / cell.score.value,
                          ratio_interval(*kept, cell), std::nullopt};
      if (is_above_guessing(cell)) retention.centred = centred_of(*kept) / centred_of(cell);
      all.push_back(std::move(retention));
    }
  }
  return all;
}

}  // namespace nb
