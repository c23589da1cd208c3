#include "results/audit/aggregates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/portable_math.hpp"
#include "results/audit/known_tasks.hpp"

namespace nb {
namespace {

enum class Guessing { kV1, kV2 };
struct Member {
  const KnownTask* task;
  const ReportedCell* cell;  // nullptr: missing
};

double guessing_of(const KnownTask& task, Guessing guessing) {
  return guessing == Guessing::kV1 ? task.guessing : task.guessing_v2;
}

// ChatCORE's ARC goes by CORE's name too, where no other task of CORE stands beside it.
const ReportedCell* cell_for(const KnownTask& task, const ReportedStage& stage) {
  if (const ReportedCell* cell = stage.find(task.id)) return cell;
  const bool is_arc = task.id.starts_with("chat_arc_");
  if (!is_arc || stage.find("hellaswag") != nullptr || stage.find("piqa") != nullptr ||
      stage.find("boolq") != nullptr)
    return nullptr;
  return stage.find(task.id.substr(5));
}

Aggregate aggregate(std::string name, const std::vector<Member>& members, Guessing guessing) {
  Aggregate result;
  result.name = std::move(name);
  double sum = 0, variance = 0, rounding = 0;
  bool has_errors = true;
  for (const auto& [task, cell] : members) {
    if (cell == nullptr) {
      result.missing.emplace_back(task->label);
      continue;
    }
    ++result.tasks;
    const double accuracy = accuracy_of(*cell);
    const double baseline = guessing_of(*task, guessing);
    const double scale = 1 / (1 - baseline);
    sum += (accuracy - baseline) * scale;
    const double of_accuracy =
        cell->scale == Scale::kCentred ? 1 - task->guessing : 1;  // what half_unit is a unit of
    rounding += cell->score.half_unit * of_accuracy * scale;
    double error = 0;
    if (cell->standard_error)
      error = *cell->standard_error * of_accuracy;
    else if (cell->n)
      error = pm::sqrt(std::max(0.0, accuracy * (1 - accuracy)) / static_cast<double>(*cell->n));
    else
      has_errors = false;
    variance += error * error * scale * scale;
  }
  if (!result.missing.empty() || members.empty()) return result;
  const auto count = static_cast<double>(members.size());
  result.value = sum / count;
  result.rounding = rounding / count;
  if (has_errors) {
    result.standard_error = pm::sqrt(variance) / count;
    result.interval = Interval{*result.value - kZ95 * *result.standard_error,
                               *result.value + kZ95 * *result.standard_error};
  }
  return result;
}

bool has_any(const std::vector<Member>& members) {
  return std::ranges::any_of(members, [](const Member& m) { return m.cell != nullptr; });
}

}  // namespace

double accuracy_of(const ReportedCell& cell) {
  const KnownTask* task = find_known_task(cell.task);
  if (cell.scale != Scale::kCentred || task == nullptr) return cell.score.value;
  return cell.score.value * (1 - task->guessing) + task->guessing;
}

double centred_of(const ReportedCell& cell) {
  const KnownTask* task = find_known_task(cell.task);
  if (cell.scale == Scale::kCentred || task == nullptr) return cell.score.value;
  return (cell.score.value - task->guessing) / (1 - task->guessing);
}

std::vector<Aggregate> aggregates_of(const ReportedStage& stage) {
  std::vector<Member> core, chat;
  for (const KnownTask& task : known_tasks()) {
    if (task.is_core)
      core.push_back({&task, stage.find(task.id)});
    else
      chat.push_back({&task, cell_for(task, stage)});
  }
  std::vector<Aggregate> all;
  const std::vector<Member> five(chat.begin(), chat.end() - 1);
  const bool only_arc = std::ranges::all_of(
      core, [](const Member& m) { return m.cell == nullptr || m.task->id.starts_with("arc_"); });
  // Two tasks of ARC beside MMLU are a chat evaluation with CORE's spelling.
  if (has_any(core) && !(only_arc && has_any(five))) {
    all.push_back(aggregate("core", core, Guessing::kV1));
    all.push_back(aggregate("core_v2", core, Guessing::kV2));
  }
  if (has_any(five) &&
      (all.empty() || stage.find("mmlu") != nullptr || stage.find("chat_arc_easy") != nullptr)) {
    all.push_back(aggregate("chatcore", five, Guessing::kV1));
    if (chat.back().cell != nullptr)
      all.push_back(aggregate("chatcore_with_spellingbee", chat, Guessing::kV1));
  }
  return all;
}

std::string missing_text(const Aggregate& aggregate) {
  constexpr std::size_t kShown = 6;
  const std::size_t all = aggregate.missing.size() + static_cast<std::size_t>(aggregate.tasks);
  const std::size_t shown = std::min(aggregate.missing.size(), kShown);
  const std::vector<std::string> first(
      aggregate.missing.begin(), aggregate.missing.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{} needs all of its {} tasks; missing: {}{}", aggregate.name, all,
                     fmt::join(first, ", "),
                     shown < aggregate.missing.size()
                         ? fmt::format(" and {} more", aggregate.missing.size() - shown)
                         : "");
}

}  // namespace nb
