// The tasks of CORE and ChatCORE as published tables name them: sizes of the test sets, what
// guessing scores, what the worst constant answer scores. A test compares it with evals' tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nb {

struct KnownTask {
  std::string_view id;     // evals/task_registry.hpp
  std::string_view label;  // nanochat's
  std::int64_t items = 0;  // of the full test set
  double guessing = 0;     // nanochat's baseline (v1)
  double guessing_v2 = 0;  // DCLM's later table
  // Share of right answers of the worst answer that is always the same, counted in the data; no
  // working evaluator is far below it. 0 where answers are written.
  double worst_constant = 0;
  bool is_core = false;  // else of ChatCORE
};

std::span<const KnownTask> known_tasks();               // CORE's 22, then ChatCORE's 6
const KnownTask* find_known_task(std::string_view id);  // nullptr: there is none
// By a printed name: "ARC-Easy" is ChatCORE's, "arc_easy" is CORE's; spelling differently does not
// matter ("HumanEval", "human_eval"). nullptr: not known.
const KnownTask* known_task_named(std::string_view label);

// "chatcore" and its likes: how a composite is called, whatever the spelling. Empty: none.
std::string_view composite_named(std::string_view label);
inline constexpr std::string_view kCoreCell = "core";
inline constexpr std::string_view kCoreEstimateCell = "core_estimate";
inline constexpr std::string_view kChatCoreCell = "chatcore";

}  // namespace nb
