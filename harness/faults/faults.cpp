#include "harness/faults/faults.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "evals/task_registry.hpp"
#include "harness/base/fields.hpp"

namespace nb {
namespace {

constexpr auto kFaults = std::to_array<FaultInfo>({
    {FaultKind::kSecondBest, "second_best", "task",
     "the scorer of that task picks the second-best answer, after the items were hashed"},
    {FaultKind::kKill, "kill", "rank=R,step=N[,phase=P]",
     "the process of a rank is killed (kill -9, memory of the host)"},
    {FaultKind::kExit, "exit", "rank=R,step=N[,phase=P]",
     "a rank ends with code 0: its data were one batch short"},
    {FaultKind::kException, "exception", "rank=R,step=N[,phase=P]",
     "a Python exception on a rank, which ends with code 1"},
    {FaultKind::kOom, "oom", "rank=R,step=N[,phase=P]",
     "a rank asks for more memory than its card has"},
    {FaultKind::kLate, "late", "rank=R,seconds=S,at=start|first or step=N",
     "a rank comes late: to the start, to the first collective, to a step"},
    {FaultKind::kPort, "port", "which=master|host|device[,rank=R]",
     "a port is taken: MASTER_PORT, 60000 of the host, 16666 of a card"},
    {FaultKind::kMismatch, "mismatch", "rank=R,what=op|count|dtype[,step=N]",
     "a rank calls the collective with another argument; without step at its first use"},
    {FaultKind::kOrder, "order", "rank=R,step=N",
     "a rank is in an all-gather while the others are in another collective"},
    {FaultKind::kNan, "nan", "rank=R,step=N[,where=gradient|parameter]",
     "a value of a rank becomes NaN"},
    {FaultKind::kLink, "link", "ranks=A-B,state=down|slow[,factor=F][,from=N]",
     "the link of two ranks breaks, or is slower by a factor"},
    {FaultKind::kSlow, "slow", "rank=R,factor=F[,from=N]", "a rank computes slower by a factor"},
    {FaultKind::kFlip, "flip", "rank=R,step=N,tensor=NAME,bit=B",
     "one bit of a parameter's first value flips on a rank, silently"},
    {FaultKind::kEcc, "ecc", "rank=R,step=N", "double-bit ECC error in the memory of a card"},
});

std::string known_forms() {
  std::string text;
  for (const FaultInfo& info : kFaults)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", form(info));
  return text;
}

std::vector<std::string> task_ids() {
  std::vector<std::string> ids;
  for (const Task& task : all_tasks()) ids.emplace_back(task.id);
  return ids;
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const FaultInfo& info : kFaults) names.emplace_back(info.name);
  return names;
}

std::string prefix_of(const std::string& where) { return where.empty() ? "" : where + ": "; }

}  // namespace

std::span<const FaultInfo> all_faults() { return kFaults; }

const FaultInfo& info(FaultKind kind) {
  return *std::ranges::find(kFaults, kind, [](const FaultInfo& i) { return i.kind; });
}

std::string form(const FaultInfo& fault) {
  if (fault.is_of_ranks()) return fmt::format("{}:{}", fault.name, fault.target);
  return fmt::format("{}:<{}>", fault.name, fault.target);
}

Result<const FaultInfo*> kind_of_fault(std::string_view text, const std::string& where) {
  const std::string kind(text.substr(0, text.find(':')));
  const auto* found = std::ranges::find(kFaults, kind, [](const FaultInfo& i) { return i.name; });
  if (found == kFaults.end())
    return bad_input(fmt::format("{}no fault \"{}\"{} (known: {})", prefix_of(where), kind,
                                 did_you_mean(kind, fault_names()), known_forms()));
  return found;
}

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
