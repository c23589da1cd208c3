// The logs that ranks leave behind a fault, in the formats that real ones have: a screen a rank,
// plog of HCCL (debug and run), the launcher's. Own words around the codes, numbers and names of
// fields; the first line of each file says that it is emulated. Times begin at a fixed day, so that
// equal runs leave equal bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/faults/rank_events.hpp"

namespace nb {

// A fault that ended a training, and all that is told of it.
struct FailureStory {
  RankFault fault;
  Limits limits;
  Launcher launcher = Launcher::kNone;
  std::map<std::string, std::string> environment;
  std::optional<double> process_group_timeout_s;
  std::string device;  // profile
  std::int64_t steps = 0;
  std::int64_t time_ns = 0;  // simulated, of the training, when it happened
  FaultSite site;
  FaultOutcome outcome;
  std::int64_t resume_step = 0;  // of the last checkpoint
};

// Name below the folder of logs → content.
std::map<std::string, std::string> logs_of(const FailureStory& story);

}  // namespace nb
