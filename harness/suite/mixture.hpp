// Which conversations a chat stage learns from, as a suite says it: tasks that are mixed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"

namespace nb {

// One task of a mixture. Rows are shuffled once as Hugging Face's shuffle(seed=42) does, then cut.
struct MixtureTask {
  std::string task;                         // a name of `npubench list conversations`
  std::string split = "train";              // or "test"
  std::string file;                         // in place of the data folder's
  std::optional<std::int64_t> size;         // of generated tasks: how many are made
  std::optional<std::int64_t> start, stop;  // of the shuffled rows
  std::int64_t times = 1;                   // listed as often: oversampling
  FieldList fields();
};

struct Mixture {
  std::vector<MixtureTask> train, validation;
  FieldList fields();
};

// Where a task's conversations come from. "" in place of a name of the data manifest: the split
// needs a `file`, or there is none.
struct ConversationTaskInfo {
  std::string_view name;
  std::string_view doc;
  std::string_view train, test;  // in the data manifest
  bool is_generated = false;     // by index, as many as `size` says
  bool takes_file = false;
  bool keeps_order = false;  // of the file, where others are shuffled
};
// All of them but the microworld's, whose names begin with "mw/".
const std::vector<ConversationTaskInfo>& conversation_tasks();
const ConversationTaskInfo* find_conversation_task(std::string_view name);  // nullptr: none
inline bool is_of_microworld(const MixtureTask& task) { return task.task.starts_with("mw/"); }

// Tasks of pairs for DPO: one's own "preferences", and "<task>_pairs", whose right answers stand
// against spoiled ones (model/data/tasks/preference.hpp).
enum class MixtureOf { kConversations, kPairs };
std::vector<std::string> pair_tasks();
bool is_of_pairs(const MixtureTask& task);
// The task whose answers are spoiled; the task itself, if there are none.
MixtureTask task_of_answers(const MixtureTask& task);

// What can be known without data: names, splits, sizes where they are needed and only there, a file
// where one is needed. has_microworld: the suite's corpus is one.
Result<void> check_mixture(const Mixture& mixture, bool has_microworld, const std::string& where,
                           MixtureOf kind = MixtureOf::kConversations);

}  // namespace nb
