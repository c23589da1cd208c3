#include "harness/faults/fault_kinds.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

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
     "a value of a rank becomes NaN: with the average all weights do"},
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

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const FaultInfo& info : kFaults) names.emplace_back(info.name);
  return names;
}

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
    return bad_input(fmt::format("{}no fault \"{}\"{} (known: {})",
                                 where.empty() ? "" : where + ": ", kind,
                                 did_you_mean(kind, fault_names()), known_forms()));
  return found;
}

}  // namespace nb
