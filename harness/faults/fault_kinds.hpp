// The kinds of faults, one table: of an evaluation's scorer (faults.hpp), of ranks that train
// together (rank_fault.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

enum class FaultKind {
  kSecondBest,
  kKill,
  kExit,
  kException,
  kOom,
  kLate,
  kPort,
  kMismatch,
  kOrder,
  kNan,
  kLink,
  kSlow,
  kFlip,
  kEcc
};

struct FaultInfo {
  FaultKind kind;
  std::string_view name;    // "second_best"
  std::string_view target;  // what stands after the colon: "task", "rank=R,step=N"
  std::string_view doc;
  constexpr bool is_of_ranks() const { return kind != FaultKind::kSecondBest; }
};
std::span<const FaultInfo> all_faults();
const FaultInfo& info(FaultKind kind);
std::string form(const FaultInfo& fault);  // "second_best:<task>", "ecc:rank=R,step=N"

// The row that `text` ("kill:rank=3,step=20") begins with. Error: unknown kind, with the nearest
// one and the list.
Result<const FaultInfo*> kind_of_fault(std::string_view text, const std::string& where);

}  // namespace nb
