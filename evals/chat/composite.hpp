// ChatCORE (nanochat's chat_eval.py): the plain mean of the tasks' centred accuracies. Its value
// depends on which tasks are in it (SpellingBee alone adds about 1/6), so each set has a name of
// its own and the two never stand beside each other.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "evals/base/eval_result.hpp"
#include "evals/base/eval_settings.hpp"

namespace nb {

struct ChatCoreSet {
  std::string_view name;  // "chatcore", "chatcore_with_spellingbee", "mw/chatcore"
  std::span<const std::string_view> tasks;
};
// Five tasks (until 2025-10-24, and since 2026-07-03), the same with SpellingBee (between), and the
// six of the generated microworld, which compare with no other model's ChatCORE.
std::span<const ChatCoreSet> chat_core_sets();

// Of the results of one evaluation: "chatcore" when one of the five is among them, and with
// SpellingBee among them "chatcore_with_spellingbee" too; "mw/chatcore" when one of the
// microworld's is; with max_per_task, "…_estimate".
// A missing task makes the value null, with the reason. The interval is normal, from the tasks'
// independent errors.
std::vector<EvalResult> chat_composites(std::span<const EvalResult> results,
                                        const EvalSettings& settings);

}  // namespace nb
