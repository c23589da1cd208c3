#include "evals/task_registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "evals/chat/answer_filter.hpp"
#include "evals/chat/letter_evaluator.hpp"
#include "evals/chat/mmlu_subjects.hpp"
#include "evals/chat/number_evaluator.hpp"
#include "evals/core/evaluator.hpp"
#include "evals/core/own_tasks.hpp"
#include "evals/core/task_table.hpp"
#include "evals/humaneval/evaluator.hpp"
#include "evals/text/evaluator.hpp"
#include "harness/base/fields.hpp"
#include "model/data/microworld_chat.hpp"

namespace nb {
namespace {

// The CORE-style tasks of core/task_table.cpp come first, in its order; then:
// clang-format off
std::vector<Task> other_tasks() {
  return {
      // id                  kind      load              dataset                   rows   shots version               variants
      {"chat_arc_easy",      "letter", load_chat_arc,    "arc/arc_easy_test",      2376,  0,    kLetterScorerVersion},
      {"chat_arc_challenge", "letter", load_chat_arc,    "arc/arc_challenge_test", 1172,  0,    kLetterScorerVersion},
      {"mmlu",               "letter", load_mmlu,        "mmlu/test",              14042, 0,    kLetterScorerVersion, mmlu_subjects},
      {"gsm8k",              "text",   load_gsm8k,       "gsm8k/test",             1319,  0,    kNumberScorerVersion, answer_filters},
      {"humaneval",          "text",   load_humaneval,   "humaneval/HumanEval",    164,   0,    kHumanEvalVersion},
      {"spellingbee",        "text",   load_spellingbee, "words/words_alpha",      0,     0,    kNumberScorerVersion, answer_filters},
      {"bpb",                kLossTask, load_texts,      kOwnFiles,                0,     0,    kTextScorerVersion},
      // The generated microworld in chat.
      {"mw/arc_easy",        "letter", load_microworld_choices,  "microworld",      0,     0,    kLetterScorerVersion},
      {"mw/arc_challenge",   "letter", load_microworld_choices,  "microworld",      0,     0,    kLetterScorerVersion},
      {"mw/mmlu",            "letter", load_microworld_choices,  "microworld",      0,     0,    kLetterScorerVersion, microworld_subjects},
      {"mw/gsm8k",           "text",   load_microworld_problems, "microworld",      0,     0,    kNumberScorerVersion, answer_filters},
      {"mw/humaneval",       "text",   load_microworld_programs, "microworld",      0,     0,    kHumanEvalVersion},
      {"mw/spellingbee",     "text",   load_microworld_spelling, "microworld",      0,     0,    kNumberScorerVersion, answer_filters},
  };
}
// clang-format on

Result<std::unique_ptr<Evaluator>> load_core(const Task& task, const EvalContext& context) {
  return load_core_evaluator(*task.core, context);
}

Task task_of(std::shared_ptr<const CoreTask> core, std::string_view dataset) {
  return {core->id,    name(core->type),   load_core, dataset, core->rows,
          core->shots, kCoreScorerVersion, nullptr,   core};
}

Result<std::vector<Task>> own_tasks(std::span<const std::string> files) {
  NB_TRY(const std::vector<CoreTask> rows, read_own_tasks(files));
  std::vector<Task> tasks;
  for (const CoreTask& core : rows)
    tasks.push_back(task_of(std::make_shared<const CoreTask>(core), kOwnFiles));
  return tasks;
}

std::vector<Task> make_tasks() {
  std::vector<Task> tasks;
  for (const CoreTask& core : core_tasks())  // which live as long as the program
    tasks.push_back(task_of({std::shared_ptr<void>(), &core}, core.dataset));
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

std::vector<std::string> known_names(std::span<const Task> own) {
  std::vector<std::string> names;
  for (const Task& task : own) names.push_back(task.id);
  for (const TaskSet& set : task_sets()) names.emplace_back(set.name);
  for (const Task& task : all_tasks()) names.emplace_back(task.id);
  return names;
}

constexpr std::size_t kListedVariants = 8;  // beside the nearest one

// "mmlu:anatomy": the task as it is, of that part or graded in that way.
Result<Task> variant_named(const std::string& name, const std::string& prefix) {
  const std::size_t colon = name.find(':');
  const std::string id = name.substr(0, colon), variant = name.substr(colon + 1);
  const Task* task = find_task(id);
  if (task == nullptr)
    return bad_input(fmt::format("{}no evaluation task \"{}\"{} (npubench list tasks)", prefix, id,
                                 did_you_mean(id, known_names({}))));
  if (task->variants == nullptr)
    return bad_input(fmt::format("{}\"{}\": {} is evaluated in one way only; write \"{}\"", prefix,
                                 name, id, id));
  const auto known = task->variants();
  if (std::ranges::find(known, variant) == known.end()) {
    const std::vector<std::string> names(known.begin(), known.end());
    const std::string nearest = did_you_mean(variant, names);
    return bad_input(fmt::format("{}\"{}\": {} has no \"{}\"{}{}", prefix, name, id, variant,
                                 nearest,
                                 nearest.empty() || names.size() <= kListedVariants
                                     ? fmt::format(" (known: {})", fmt::join(names, ", "))
                                     : ""));
  }
  Task copy = *task;
  if (variant == kStrictFilter) return copy;  // what the task does anyway
  copy.id = name;
  copy.variant = variant;
  return copy;
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
  EvalSettings settings;
  settings.tasks.assign(names.begin(), names.end());
  return expand_tasks(settings, where);
}

Result<std::vector<Task>> expand_tasks(const EvalSettings& settings, const std::string& where) {
  NB_TRY(const std::vector<Task> own, own_tasks(settings.task_files));
  std::vector<Task> tasks;
  const auto add = [&tasks](const Task& task) {
    if (std::ranges::find(tasks, task.id, &Task::id) == tasks.end()) tasks.push_back(task);
  };
  const std::string prefix = where.empty() ? "" : where + ": ";
  bool names_own = false;
  for (const std::string& name : settings.tasks) {
    const auto sets = task_sets();
    const auto set =
        std::find_if(sets.begin(), sets.end(), [&](const TaskSet& s) { return s.name == name; });
    const auto mine = std::ranges::find(own, name, &Task::id);
    if (set != sets.end()) {
      for (const std::string_view id : set->tasks) add(*find_task(id));
    } else if (const Task* task = find_task(name)) {
      add(*task);
    } else if (mine != own.end()) {
      add(*mine);
      names_own = true;
    } else if (name.find(':') != std::string::npos) {
      NB_TRY(const Task variant, variant_named(name, prefix));
      add(variant);
    } else {
      return bad_input(fmt::format("{}no evaluation task \"{}\"{} (npubench list tasks)", prefix,
                                   name, did_you_mean(name, known_names(own))));
    }
  }
  if (!names_own)
    for (const Task& task : own) add(task);
  if (tasks.empty())
    return bad_input(prefix + "no evaluation tasks; name at least one, e.g. \"mw\"");
  const bool reads_texts =
      std::ranges::any_of(tasks, [](const Task& task) { return task.load == load_texts; });
  if (reads_texts && settings.texts.empty())
    return bad_input(prefix + "bpb needs a text; give the files (--text FILE)");
  if (!reads_texts && !settings.texts.empty())
    return bad_input(prefix + "only the task bpb reads texts; add it (--task bpb)");
  if (!reads_texts && settings.window)
    return bad_input(prefix + "only the task bpb has a window; add it or leave out --window");
  if (settings.num_fewshot)
    for (const Task& task : tasks)
      if (task.core == nullptr)
        return bad_input(fmt::format(
            "{}{} takes no few-shot examples, only CORE-style tasks do; evaluate it without "
            "num_fewshot",
            prefix, task.id));
  return tasks;
}

}  // namespace nb
