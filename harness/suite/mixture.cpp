#include "harness/suite/mixture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/data/microworld_chat.hpp"

namespace nb {

FieldList MixtureTask::fields() {
  return {{"task", "a name of `npubench list conversations`", &task, {.required = true}},
          {"split", "of the task's rows", &split, {.one_of = {"train", "test"}}},
          {"file", "your own file in place of the data folder's", &file},
          {"size", "of generated tasks: how many conversations", &size, {.min = 1}},
          {"start", "first of the shuffled rows (identity: of the file's)", &start, {.min = 0}},
          {"stop", "end of the shuffled rows (identity: of the file's)", &stop, {.min = 1}},
          {"times", "how often the task is in the mixture", &times, {.min = 1, .max = 100}}};
}

FieldList Mixture::fields() {
  return {{"train", "tasks that are learned from, mixed", list(&train), {.required = true}},
          {"validation", "tasks that are held out", list(&validation), {.required = true}}};
}

// clang-format off
const std::vector<ConversationTaskInfo>& conversation_tasks() {
  static const std::vector<ConversationTaskInfo> tasks = {
      {"arc_easy",        "ARC-Easy, the letter as the answer",      "arc/arc_easy_train",           "arc/arc_easy_test"},
      {"arc_challenge",   "ARC-Challenge, the letter as the answer", "arc/arc_challenge_train",      "arc/arc_challenge_test"},
      {"mmlu",            "MMLU, the letter; train: your own auxiliary_train as JSON Lines", "",     "mmlu/test", false, true},
      {"gsm8k",           "GSM8K with calculator calls",             "gsm8k/train",                  "gsm8k/test"},
      {"identity",        "who the model is (nanochat's 1000)",      "chat/identity_conversations",  "", false, true, true},
      {"conversations",   "your own: JSON Lines of messages, as SmolTalk has them", "", "",           false, true},
      {"preferences",     "your own pairs for DPO: JSON Lines of prompt, chosen, rejected", "", "", false, true},
      {"spellingbee",     "how often a letter is in a word",         "words/words_alpha",            "words/words_alpha", true},
      {"simple_spelling", "spell a word",                            "words/words_alpha",            "words/words_alpha", true},
  };
  return tasks;
}
// clang-format on

const ConversationTaskInfo* find_conversation_task(std::string_view name) {
  for (const ConversationTaskInfo& task : conversation_tasks())
    if (task.name == name) return &task;
  return nullptr;
}

namespace {

constexpr std::string_view kPreferences = "preferences", kPairs = "_pairs";

}  // namespace

// Their answers have a letter or a number that can be wrong.
std::vector<std::string> pair_tasks() {
  std::vector<std::string> names = {std::string(kPreferences)};
  for (const char* task : {"arc_easy", "arc_challenge", "mmlu", "gsm8k", "spellingbee"})
    for (const char* world : {"", "mw/"}) names.push_back(std::string(world) + task + "_pairs");
  return names;
}

bool is_of_pairs(const MixtureTask& task) {
  const std::vector<std::string> names = pair_tasks();
  return std::ranges::find(names, task.task) != names.end();
}

MixtureTask task_of_answers(const MixtureTask& task) {
  MixtureTask answers = task;
  if (task.task != kPreferences && is_of_pairs(task))
    answers.task.resize(answers.task.size() - kPairs.size());
  return answers;
}

namespace {

Result<void> check_kind(const MixtureTask& task, MixtureOf kind, const std::string& where) {
  const bool is_pairs = is_of_pairs(task);
  if (kind == MixtureOf::kConversations && is_pairs)
    return bad_input(
        fmt::format("{}/task: {} is of pairs of answers, which /stages/dpo alone learns from",
                    where, task.task));
  if (kind == MixtureOf::kPairs && !is_pairs)
    return bad_input(fmt::format("{}/task: no pairs \"{}\"{}; there are {}", where, task.task,
                                 did_you_mean(task.task, pair_tasks()),
                                 fmt::join(pair_tasks(), ", ")));
  return {};
}

Result<void> check_generated(const MixtureTask& task, const std::string& where) {
  if (!task.file.empty())
    return bad_input(fmt::format("{}/file: {} is generated; leave it out", where, task.task));
  if (!task.size)
    return bad_input(fmt::format("{}/size: missing: {} is generated, so say how many conversations",
                                 where, task.task));
  return {};
}

Result<void> check_task(const MixtureTask& task, bool has_microworld, const std::string& where) {
  const auto order = task.stop && task.start.value_or(0) >= *task.stop;
  if (order)
    return bad_input(fmt::format("{}: start {} is not below stop {}", where, task.start.value_or(0),
                                 *task.stop));
  if (is_of_microworld(task)) {
    if (!has_microworld)
      return bad_input(
          fmt::format("{}/task: {} tells of the generated world and needs /corpus/microworld",
                      where, task.task));
    std::vector<std::string> names;
    for (const std::string_view name : microworld_conversation_tasks()) names.emplace_back(name);
    if (std::find(names.begin(), names.end(), task.task) == names.end())
      return bad_input(fmt::format("{}/task: no conversations \"{}\"{}", where, task.task,
                                   did_you_mean(task.task, names)));
    return check_generated(task, where);
  }
  const ConversationTaskInfo* info = find_conversation_task(task.task);
  if (info == nullptr) {
    std::vector<std::string> names;
    for (const ConversationTaskInfo& known : conversation_tasks()) names.emplace_back(known.name);
    for (const std::string_view name : microworld_conversation_tasks()) names.emplace_back(name);
    return bad_input(fmt::format("{}/task: no conversations \"{}\"{} (npubench list conversations)",
                                 where, task.task, did_you_mean(task.task, names)));
  }
  if (info->is_generated) return check_generated(task, where);
  if (task.size)
    return bad_input(
        fmt::format("{}/size: {} has the rows of its file; cut them with start and "
                    "stop",
                    where, task.task));
  if (!task.file.empty() && !info->takes_file)
    return bad_input(
        fmt::format("{}/file: {} comes from the data folder; leave it out", where, task.task));
  const std::string_view dataset = task.split == "train" ? info->train : info->test;
  if (dataset.empty() && task.file.empty())
    return bad_input(
        fmt::format("{}/file: missing: the data folder has no {} split of {}; give "
                    "your own file",
                    where, task.split, task.task));
  return {};
}

}  // namespace

Result<void> check_mixture(const Mixture& mixture, bool has_microworld, const std::string& where,
                           MixtureOf kind) {
  const auto check_list = [&](const std::vector<MixtureTask>& tasks,
                              const char* name) -> Result<void> {
    if (tasks.empty())
      return bad_input(
          fmt::format("{}/{}: empty; name at least one task, for example "
                      "{{\"task\": \"gsm8k\"}}",
                      where, name));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::string here = fmt::format("{}/{}/{}", where, name, i);
      NB_TRY_VOID(check_kind(tasks[i], kind, here));
      NB_TRY_VOID(check_task(task_of_answers(tasks[i]), has_microworld, here));
    }
    return {};
  };
  NB_TRY_VOID(check_list(mixture.train, "train"));
  return check_list(mixture.validation, "validation");
}

}  // namespace nb
