#include "results/audit/known_tasks.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "harness/base/ascii.hpp"

namespace nb {
namespace {

// worst_constant: smallest share of a gold position in the bundle's files and in MMLU and ARC
// (MMLU: A 3222, B 3462, C 3582, D 3776 of 14042); hellaswag's is not freely available, so
// guessing.
// clang-format off
constexpr auto kTasks = std::to_array<KnownTask>({
    {"hellaswag_zeroshot",               "hellaswag_zeroshot",               10042, .25,  .25,  .25,   true},
    {"jeopardy",                         "jeopardy",                         2117,  0,    0,    0,     true},
    {"bigbench_qa_wikidata",             "bigbench_qa_wikidata",             20321, 0,    0,    0,     true},
    {"arc_easy",                         "arc_easy",                         2376,  .25,  .25,  .2378, true},
    {"arc_challenge",                    "arc_challenge",                    1172,  .25,  .25,  .2227, true},
    {"copa",                             "copa",                             100,   .5,   .5,   .45,   true},
    {"commonsense_qa",                   "commonsense_qa",                   1221,  .2,   .403, .1925, true},
    {"piqa",                             "piqa",                             1838,  .5,   .5,   .4951, true},
    {"openbook_qa",                      "openbook_qa",                      500,   .25,  .25,  .208,  true},
    {"lambada_openai",                   "lambada_openai",                   5153,  0,    0,    0,     true},
    {"hellaswag",                        "hellaswag",                        10042, .25,  .25,  .25,   true},
    {"winograd",                         "winograd",                         273,   .5,   .5,   .4982, true},
    {"winogrande",                       "winogrande",                       1267,  .5,   .5,   .4957, true},
    {"bigbench_dyck_languages",          "bigbench_dyck_languages",          1000,  0,    0,    0,     true},
    {"agi_eval_lsat_ar",                 "agi_eval_lsat_ar",                 230,   .2,   .25,  .2,    true},
    {"bigbench_cs_algorithms",           "bigbench_cs_algorithms",           1320,  0,    0,    0,     true},
    {"bigbench_operators",               "bigbench_operators",               210,   0,    0,    0,     true},
    {"bigbench_repeat_copy_logic",       "bigbench_repeat_copy_logic",       32,    0,    0,    0,     true},
    {"squad",                            "squad",                            10570, 0,    0,    0,     true},
    {"coqa",                             "coqa",                             7983,  0,    0,    0,     true},
    {"boolq",                            "boolq",                            3270,  .62,  .62,  .3783, true},
    {"bigbench_language_identification", "bigbench_language_identification", 10000, .091, .25,  .091,  true},
    {"chat_arc_easy",                    "ARC-Easy",                         2376,  .25,  .25,  .2361, false},
    {"chat_arc_challenge",               "ARC-Challenge",                    1172,  .25,  .25,  .227,  false},
    {"mmlu",                             "MMLU",                             14042, .25,  .25,  .2295, false},
    {"gsm8k",                            "GSM8K",                            1319,  0,    0,    0,     false},
    {"humaneval",                        "HumanEval",                        164,   0,    0,    0,     false},
    {"spellingbee",                      "SpellingBee",                      256,   0,    0,    0,     false},
});
// clang-format on

std::string letters_of(std::string_view label) {
  std::string result;
  for (const char c : label)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) result += lower_case(c);
  return result;
}

}  // namespace

std::span<const KnownTask> known_tasks() { return kTasks; }

const KnownTask* find_known_task(std::string_view id) {
  const auto found = std::ranges::find_if(kTasks, [&](const KnownTask& t) { return t.id == id; });
  return found == kTasks.end() ? nullptr : &*found;
}

const KnownTask* known_task_named(std::string_view label) {
  if (const KnownTask* exact = find_known_task(label)) return exact;
  for (const KnownTask& task : kTasks)
    if (task.label == label) return &task;
  const std::string letters = letters_of(label);
  if (letters == "arcc") return find_known_task("chat_arc_challenge");
  if (letters == "arce") return find_known_task("chat_arc_easy");
  // Of two that are spelled alike ("Arc Easy") the chat's: CORE's are written as in its files.
  for (auto task = kTasks.rbegin(); task != kTasks.rend(); ++task)
    if (letters_of(task->label) == letters) return &*task;
  return nullptr;
}

std::string_view composite_named(std::string_view label) {
  const std::string letters = letters_of(label);
  if (letters == "chatcore" || letters == "chatcoremetric") return kChatCoreCell;
  if (letters == "core" || letters == "coremetric") return kCoreCell;
  if (letters == "coreestimate" || letters == "coremetricestimate") return kCoreEstimateCell;
  return {};
}

}  // namespace nb
