#include "evals/base/eval_settings.hpp"

#include <fmt/core.h>

namespace nb {

FieldList EvalSettings::fields() {
  return {
      {"tasks",
       "task ids (arc_easy, mw/facts, …) or sets (core, core_with_hellaswag_approx, mw)",
       &tasks,
       {.required = true}},
      {"task_files",
       "YAML files of your own tasks, in core.yaml's form; all of theirs are evaluated, or those "
       "that "
       "tasks names as own/<label>",
       &task_files,
       {.hashed = false, .omits_absent = true}},
      {"num_fewshot",
       "few-shot examples in place of the CORE-style tasks' own number",
       &num_fewshot,
       {.min = 0, .max = kMaxFewShot, .omits_absent = true}},
      {"max_per_task",
       "rows of each task kept after the shuffle; -1: all",
       &max_per_task,
       {.min = -1}},
      {"shuffle_seed", "order of the rows; nanochat uses 1337", &shuffle_seed},
      {"few_shot_seed",
       "seed of the few-shot examples, to which the item's position is added; nanochat uses 1234",
       &few_shot_seed},
      {"baselines",
       "accuracies of guessing: nanochat's table (v1) or DCLM's later one (v2)",
       &baselines,
       {.one_of = {"v1", "v2"}}},
      {"texts",
       "UTF-8 texts or JSONL with \"text\", whose bits per byte the task bpb gives",
       &texts,
       {.hashed = false, .omits_absent = true}},
      {"window",
       "length of the windows in which bpb scores a text; absent: what the model's context holds",
       &window,
       {.unit = "tok", .min = 2, .omits_absent = true}},
      {"max_new_tokens",
       "longest generated answer, in tokens",
       &max_new_tokens,
       {.unit = "tok", .min = 1}},
      {"num_samples",
       "completions per item; it passes if any of them does",
       &num_samples,
       {.min = 1, .max = 1000}},
      {"temperature",
       "of sampling; 0: the most likely token",
       &temperature,
       {.min = 0, .max = 100}},
      {"top_k",
       "sample from this many most likely tokens; 0: from all",
       &top_k,
       {.min = 0, .max = kMaxTopK}},
      {"sample_seed", "of sampling", &sample_seed},
  };
}

std::string generation_text(const EvalSettings& settings) {
  const std::string tail = fmt::format("{} tokens", settings.max_new_tokens);
  if (settings.temperature == 0 && settings.num_samples == 1) return "greedy, " + tail;
  return fmt::format("temperature {}, top_k {}, {} samples, seed {}, {}", settings.temperature,
                     settings.top_k, settings.num_samples, settings.sample_seed, tail);
}

}  // namespace nb
