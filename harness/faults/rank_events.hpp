// What every rank reports of a fault, and when: a pure function of the fault, the clocks, the
// launcher and the number of ranks. Sources: hicann/hccl@09300b70df9a docs/zh/user_guide/
// fault_diagnosis, Ascend/pytorch@9e73e708ab93 ProcessGroupHCCL. What really happened is the
// training's affair (injector.hpp); this is what a user sees of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/faults/limits.hpp"
#include "harness/faults/rank_fault.hpp"

namespace nb {

enum class Launcher { kNone, kTorchrun };

// Where the ranks were: the collective that they waited in.
struct FaultSite {
  std::int64_t step = 0;
  std::string op = "all_reduce";  // "all_gather", …
  std::int64_t number = 0;        // of the collectives since the start, from 1
  std::string tensor;             // whose gradient
  std::int64_t count = 0;         // elements
  std::string dtype = "fp32";
  std::string device_text;  // what the device itself said: out of memory
};

struct RankEvent {
  int rank = 0;
  double after_s = 0;  // simulated, after the fault
  std::string code;    // "EI0002", "LOST", "SIGTERM", …
  std::string text;    // one line, without code, time and rank
  int peer = -1;       // that it waited for, or that it reports
};

struct RankEnd {
  double launched_s = 0;        // when it began the collective that it waits in; of most: 0
  std::string op;               // which
  std::int64_t count = 0;       // its elements
  std::string dtype;            // their type
  std::optional<int> exitcode;  // none: it still lives
};

struct FaultOutcome {
  bool stops = false;       // the training ends by it
  bool never_ends = false;  // and nobody would ever say so
  int first_rank = 0;
  std::string first_code, first_text;
  std::vector<RankEvent> events;  // by time, then rank
  std::vector<RankEnd> ranks;
  double ends_s = 0;    // until the ranks have ended: what the cards lose
  std::string finding;  // how to find the first rank
  std::string note;     // of a fault that stops nothing
};

FaultOutcome outcome_of(const RankFault& fault, const Limits& limits, Launcher launcher, int ranks,
                        const FaultSite& site);

// "EI0002 on 7 ranks, nothing on rank 3".
std::string seen_text(const FaultOutcome& outcome);
// "0-2, 4-7"
std::string ranges_text(const std::vector<int>& ranks);

}  // namespace nb
