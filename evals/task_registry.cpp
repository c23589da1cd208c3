#include "evals/task_registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "evals/chat/letter_evaluator.hpp"
#include "evals/chat/number_evaluator.hpp"
#include "evals/core/evaluator.hpp"
#include "evals/core/task_table.hpp"
#include "evals/humaneval/evaluator.hpp"
#include "harness/base/fields.hpp"

namespace nb {
namespace {

// The CORE-style tasks of core/task_table.cpp come first, in its order; then:
// clang-format off
std::vector<Task> other_tasks() {
  return {
      // id                  kind      load              dataset                   rows   shots version
      {"chat_arc_easy",      "letter", load_chat_arc,    "arc/arc_easy_test",      2376,  0,    kLetterScorerVersion},
      {"chat_arc_challenge", "letter", load_chat_arc,    "arc/arc_challenge_test", 1172,  0,    kLetterScorerVersion},
      {"mmlu",               "letter", load_mmlu,        "mmlu/test",              14042, 0,    kLetterScorerVersion},
      {"gsm8k",              "text",   load_gsm8k,       "gsm8k/test",             1319,  0,    kNumberScorerVersion},
      {"humaneval",          "text",   load_humaneval,   "humaneval/HumanEval",    164,   0,    kHumanEvalVersion},
      {"spellingbee",        "text",   load_spellingbee, "words/words_alpha",      0,     0,    kNumberScorerVersion},
      // The generated microworld in chat.
      {"mw/arc_easy",        "letter", load_microworld_choices,  "microworld",      0,     0,    kLetterScorerVersion},
      {"mw/arc_challenge",   "letter", load_microworld_choices,  "microworld",      0,     0,    kLetterScorerVersion},
      {"mw/mmlu",            "letter", load_microworld_choices,  "microworld",      0,     0,    kLetterScorerVersion},
      {"mw/gsm8k",           "text",   load_microworld_problems, "microworld",      0,     0,    kNumberScorerVersion},
      {"mw/humaneval",       "text",   load_microworld_programs, "microworld",      0,     0,    kHumanEvalVersion},
      {"mw/spellingbee",     "text",   load_microworld_spelling, "microworld",      0,     0,    kNumberScorerVersion},
  };
}
// clang-format on

Result<std::unique_ptr<Evaluator>> load_core(const Task& task, const EvalContext& context) {
  return load_core_evaluator(*task.core, context);
}

std::vector<Task> make_tasks() {
  std::vector<Task> tasks;
  for (const CoreTask& core : core_tasks())
    tasks.push_back({core.id, name(core.type), load_core, core.dataset, core.rows, core.shots,
                     kCoreScorerVersion,
                     std::shared_ptr<const CoreTask>(std::shared_ptr<void>(), &core)});
  for (const Task& task : other_tasks()) tasks.push_back(task);
  return tasks;
}

std::vector<std::string_view> ids_where(bool (*is_member)(const Task&)) {
  std::vector<std::string_view> ids;
  for (const Task& task : all_tasks())
    if (is_member(task)) ids.push_back(task.id);
  return ids;
}

bool has_place_in_core(const Task& task) {
  return task.core != nullptr && !task.core->core_label.empty();
}
bool is_real_core(const Task& task) {
  return has_place_in_core(task) && !task.core->is_approximate;
}
bool is_available_core(const Task& task) {
  return has_place_in_core(task) && task.dataset != "core/hellaswag";
}
bool is_generated(const Task& task) { return task.dataset == "microworld"; }
bool is_in_chat(const Task& task) { return task.kind == kLetterTask || task.kind == kTextTask; }
bool is_chat(const Task& task) { return is_in_chat(task) && !is_generated(task); }
bool is_chat_of_five(const Task& task) { return is_chat(task) && task.id != "spellingbee"; }
bool is_generated_core(const Task& task) { return is_generated(task) && !is_in_chat(task); }
bool is_generated_chat(const Task& task) { return is_generated(task) && is_in_chat(task); }

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const TaskSet& set : task_sets()) names.emplace_back(set.name);
  for (const Task& task : all_tasks()) names.emplace_back(task.id);
  return names;
}

}  // namespace

std::span<const Task> all_tasks() {
  static const std::vector<Task> tasks = make_tasks();
  return tasks;
}

const Task* find_task(std::string_view id) {
  const auto tasks = all_tasks();
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [&](const Task& task) { return task.id == id; });
  return found == tasks.end() ? nullptr : &*found;
}

std::span<const TaskSet> task_sets() {
  static const std::vector<TaskSet> sets = {
      {"core", "the 22 tasks of CORE", ids_where(is_real_core)},
      {"core_with_hellaswag_approx", "CORE with an approximate HellaSwag; not comparable with CORE",
       ids_where(is_available_core)},
      {"mw", "the generated microworld", ids_where(is_generated_core)},
      {"mw_chat", "the generated microworld in chat", ids_where(is_generated_chat)},
      {"chat", "the tasks of ChatCORE, without SpellingBee", ids_where(is_chat_of_five)},
      {"chat_with_spellingbee", "the same with SpellingBee; its ChatCORE is another metric",
       ids_where(is_chat)},
  };
  return sets;
}

Result<std::vector<Task>> expand_tasks(std::span<const std::string> names,
                                       const std::string& where) {
  std::vector<Task> tasks;
  const auto add = [&tasks](const Task& task) {
    if (std::ranges::find(tasks, task.id, &Task::id) == tasks.end()) tasks.push_back(task);
  };
  const std::string prefix = where.empty() ? "" : where + ": ";
  for (const std::string& name : names) {
    const auto sets = task_sets();
    const auto set =
        std::find_if(sets.begin(), sets.end(), [&](const TaskSet& s) { return s.name == name; });
    if (set != sets.end()) {
      for (const std::string_view id : set->tasks) add(*find_task(id));
    } else if (const Task* task = find_task(name)) {
      add(*task);
    } else {
      return bad_input(fmt::format("{}no evaluation task \"{}\"{} (npubench list tasks)", prefix,
                                   name, did_you_mean(name, known_names())));
    }
  }
  if (tasks.empty())
    return bad_input(prefix + "no evaluation tasks; name at least one, e.g. \"mw\"");
  return tasks;
}

}  // namespace nb
