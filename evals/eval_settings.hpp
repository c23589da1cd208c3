// What a suite may set about an evaluation. Everything here that can change a score is part of the
// node key and, where it decides what is measured, of comparability (core_evaluator.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"

namespace nb {

struct EvalSettings {
  std::vector<std::string> tasks;      // ids or set names (task_registry.hpp)
  std::int64_t max_per_task = -1;      // keep that many rows after the shuffle; -1: all
  std::uint64_t shuffle_seed = 1337;   // nanochat.md §6.3
  std::uint64_t few_shot_seed = 1234;  // plus the item's position; §6.4
  std::string baselines = "v1";        // v1: nanochat's published CORE; v2: DCLM's later table

  FieldList fields();
};

}  // namespace nb
