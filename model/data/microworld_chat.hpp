// Conversations about the microworld, in the form of each chat task, and the test items of the
// evaluations mw/arc_easy … mw/spellingbee. A function of (settings, task, split, index) with the
// same bytes on every host; more of a split continue the same ones. No tokens, no grading here.
//
// Held out: what a test question asks (a subject's attribute, a rule about one day, the numbers of
// a word problem, the constants of a program, a word with a letter) is asked in no train
// conversation of any task. The documents state the facts behind it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/result.hpp"
#include "model/data/microworld.hpp"
#include "model/data/tasks/conversation.hpp"
#include "model/data/tasks/gsm8k.hpp"
#include "model/data/tasks/multiple_choice.hpp"
#include "model/data/tasks/spelling.hpp"
#include "model/data/tasks/task_view.hpp"

namespace nb {

enum class WorldSplit { kTrain, kTest };

// A row of HumanEval.
struct ProgramItem {
  std::string task_id;             // "mw/humaneval/test/0"
  std::string prompt;              // header and docstring
  std::string canonical_solution;  // continues the prompt
  std::string test;                // defines check(candidate)
  std::string entry_point;
};
// User: the prompt. Assistant: the whole function.
Conversation conversation_of(const ProgramItem& item);

using WorldItem = std::variant<ChoiceItem, Gsm8kItem, ProgramItem, SpellingBeeItem, Conversation>;

// "mw/arc_easy", "mw/arc_challenge", "mw/mmlu", "mw/gsm8k", "mw/humaneval", "mw/spellingbee",
// "mw/simple_spelling", "mw/talk", "mw/identity".
std::vector<std::string_view> microworld_conversation_tasks();

std::vector<std::string_view> microworld_subjects();  // of mw/mmlu, in alphabetical order

// Errors: settings out of their ranges, an unknown task, a size below 1, above 10 million or, of
// the test split, above items_per_task.
Result<ConversationTask> microworld_conversations(const MicroworldSettings& settings,
                                                  std::string_view task, WorldSplit split,
                                                  std::size_t size);
// The same as items, those with an id each with its own. Every item holds the same alternative.
Result<std::vector<WorldItem>> microworld_items(const MicroworldSettings& settings,
                                                std::string_view task, WorldSplit split,
                                                std::size_t size);

// All items of a test split that are of that kind: what an evaluation asks.
template <class Item>
Result<std::vector<Item>> microworld_test_items(const MicroworldSettings& settings,
                                                std::string_view task) {
  NB_TRY_VOID(check_ranges(settings));
  NB_TRY(std::vector<WorldItem> any,
         microworld_items(settings, task, WorldSplit::kTest,
                          static_cast<std::size_t>(settings.items_per_task)));
  std::vector<Item> items;
  for (WorldItem& item : any) items.push_back(std::get<Item>(std::move(item)));
  return items;
}

}  // namespace nb
