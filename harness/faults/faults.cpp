#include "harness/faults/faults.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "evals/task_registry.hpp"
#include "harness/base/fields.hpp"

namespace nb {
namespace {

std::vector<std::string> task_ids() {
  std::vector<std::string> ids;
  for (const Task& task : all_tasks()) ids.emplace_back(task.id);
  return ids;
}

std::string prefix_of(const std::string& where) { return where.empty() ? "" : where + ": "; }

}  // namespace

std::string name(const Fault& fault) {
  return fmt::format("{}:{}", info(fault.kind).name, fault.target);
}

Result<Fault> parse_fault(std::string_view text, const std::string& where) {
  const std::string prefix = prefix_of(where);
  NB_TRY(const FaultInfo* const info, kind_of_fault(text, where));
  if (info->is_of_ranks())
    return bad_input(fmt::format(
        "{}fault \"{}\" is of ranks that train together; it concerns no evaluation", prefix, text));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size())
    return bad_input(fmt::format("{}fault \"{}\" needs a {}: write {}:<{}>", prefix, text,
                                 info->target, info->name, info->target));
  const std::string target(text.substr(colon + 1));
  if (find_task(target) == nullptr)
    return bad_input(fmt::format("{}fault \"{}\": no evaluation task \"{}\"{}", prefix, text,
                                 target, did_you_mean(target, task_ids())));
  if (find_task(target)->dataset == kOwnFiles)
    return bad_input(fmt::format("{}fault \"{}\": {} has no answers that could be scored wrongly",
                                 prefix, text, target));
  return Fault{info->kind, target};
}

Result<std::vector<Fault>> parse_faults(std::span<const std::string> texts,
                                        const std::string& where) {
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    NB_TRY(Fault fault, parse_fault(texts[i], where.empty() ? "" : fmt::format("{}/{}", where, i)));
    faults.push_back(std::move(fault));
  }
  return faults;
}

Result<void> check_faults_hit(std::span<const Fault> faults, std::span<const Task> evaluated,
                              const std::string& where) {
  for (const Fault& fault : faults) {
    const bool is_hit = std::any_of(evaluated.begin(), evaluated.end(),
                                    [&](const Task& task) { return task.id == fault.target; });
    if (is_hit) continue;
    return bad_input(
        fmt::format("{}{}fault \"{}\" would change nothing: {} is not part of this evaluation",
                    where, where.empty() ? "" : ": ", name(fault), fault.target));
  }
  return {};
}

std::function<ScorerFault(std::string_view)> scorer_faults(std::vector<Fault> faults) {
  return [faults = std::move(faults)](std::string_view task) {
    const bool is_faulty = std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
      return fault.kind == FaultKind::kSecondBest && fault.target == task;
    });
    return is_faulty ? ScorerFault::kSecondBest : ScorerFault::kNone;
  };
}

}  // namespace nb
