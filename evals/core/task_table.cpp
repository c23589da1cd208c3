#include "evals/core/task_table.hpp"

#include <algorithm>

namespace nb {
namespace {

constexpr auto kChoice = CoreTaskType::kMultipleChoice;
constexpr auto kSchema = CoreTaskType::kSchema;
constexpr auto kModelling = CoreTaskType::kLanguageModelling;
constexpr const char* kBlank = " ";
constexpr const char* kAnswer = "\nAnswer: ";

// nanochat's base_eval.py, in the order of core.yaml. Baselines in percent: v1 nanochat, v2 DCLM's
// later table.
// clang-format off
std::vector<CoreTask> make_core_tasks() {
  return {
      // id                               type        dataset                                shots delimiter  v1   v2    rows   place in CORE
      {"hellaswag_zeroshot",              kChoice,    "core/hellaswag",                       0, kBlank,  25,  25,   10042, "hellaswag_zeroshot"},
      {"jeopardy",                        kModelling, "core/jeopardy_all",                   10, kAnswer, 0,   0,    2117,  "jeopardy"},
      {"bigbench_qa_wikidata",            kModelling, "core/bigbench_qa_wikidata",           10, kBlank,  0,   0,    20321, "bigbench_qa_wikidata"},
      {"arc_easy",                        kChoice,    "core/arc_easy",                       10, kAnswer, 25,  25,   2376,  "arc_easy"},
      {"arc_challenge",                   kChoice,    "core/arc_challenge",                  10, kAnswer, 25,  25,   1172,  "arc_challenge"},
      {"copa",                            kChoice,    "core/copa",                            0, kBlank,  50,  50,   100,   "copa"},
      {"commonsense_qa",                  kChoice,    "core/commonsense_qa",                 10, kBlank,  20,  40.3, 1221,  "commonsense_qa"},
      {"piqa",                            kChoice,    "core/piqa",                           10, kAnswer, 50,  50,   1838,  "piqa"},
      {"openbook_qa",                     kChoice,    "core/openbook_qa",                     0, kBlank,  25,  25,   500,   "openbook_qa"},
      {"lambada_openai",                  kModelling, "core/lambada_openai",                  0, kBlank,  0,   0,    5153,  "lambada_openai"},
      {"hellaswag",                       kChoice,    "core/hellaswag",                      10, kBlank,  25,  25,   10042, "hellaswag"},
      {"winograd",                        kSchema,    "core/winograd_wsc",                    0, kBlank,  50,  50,   273,   "winograd"},
      {"winogrande",                      kSchema,    "core/winogrande",                      0, kBlank,  50,  50,   1267,  "winogrande"},
      {"bigbench_dyck_languages",         kModelling, "core/bigbench_dyck_languages",        10, kBlank,  0,   0,    1000,  "bigbench_dyck_languages"},
      {"agi_eval_lsat_ar",                kChoice,    "core/agi_eval_lsat_ar",                3, kBlank,  20,  25,   230,   "agi_eval_lsat_ar"},
      {"bigbench_cs_algorithms",          kModelling, "core/bigbench_cs_algorithms",         10, kBlank,  0,   0,    1320,  "bigbench_cs_algorithms"},
      {"bigbench_operators",              kModelling, "core/bigbench_operators",             10, kBlank,  0,   0,    210,   "bigbench_operators"},
      {"bigbench_repeat_copy_logic",      kModelling, "core/bigbench_repeat_copy_logic",     10, kBlank,  0,   0,    32,    "bigbench_repeat_copy_logic"},
      {"squad",                           kModelling, "core/squad",                          10, kBlank,  0,   0,    10570, "squad"},
      {"coqa",                            kModelling, "core/coqa",                            0, kBlank,  0,   0,    7983,  "coqa"},
      {"boolq",                           kChoice,    "core/boolq",                          10, kAnswer, 62,  62,   3270,  "boolq"},
      {"bigbench_language_identification", kChoice,   "core/bigbench_language_identification", 10, kBlank, 9.1, 25,  10000, "bigbench_language_identification"},
      // The two HellaSwag places from a file that only resembles the bundle's.
      {"hellaswag_zeroshot_approx",       kChoice,    "core/hellaswag_approx",                0, kBlank,  25,  25,   10042, "hellaswag_zeroshot", true},
      {"hellaswag_approx",                kChoice,    "core/hellaswag_approx",               10, kBlank,  25,  25,   10042, "hellaswag", true},
      // The generated microworld; baselines and rows come from its generator.
      {"mw/facts",                        kChoice,    "microworld",                           0, kBlank,  0,   0,    0,     ""},
      {"mw/cloze",                        kModelling, "microworld",                           0, kBlank,  0,   0,    0,     ""},
      {"mw/agreement",                    kSchema,    "microworld",                           0, kBlank,  0,   0,    0,     ""},
      {"mw/choice",                       kChoice,    "microworld",                           0, kBlank,  0,   0,    0,     ""},
  };
}
// clang-format on

}  // namespace

std::span<const CoreTask> core_tasks() {
  static const std::vector<CoreTask> tasks = make_core_tasks();
  return tasks;
}

const CoreTask* find_core_task(std::string_view id) {
  const auto tasks = core_tasks();
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [&](const CoreTask& task) { return task.id == id; });
  return found == tasks.end() ? nullptr : &*found;
}

std::vector<std::string_view> core_labels() {
  std::vector<std::string_view> labels;
  for (const CoreTask& task : core_tasks())
    if (!task.core_label.empty() && !task.is_approximate) labels.push_back(task.core_label);
  return labels;
}

}  // namespace nb
