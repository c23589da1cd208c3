#include "evals/eval_settings.hpp"

namespace nb {

FieldList EvalSettings::fields() {
  return {
      {"tasks",
       "task ids (arc_easy, mw/facts, …) or sets (core, core_with_hellaswag_approx, mw)",
       &tasks,
       {.required = true}},
      {"max_per_task",
       "rows kept of each task after the shuffle; -1: all",
       &max_per_task,
       {.min = -1}},
      {"shuffle_seed", "order of the rows; nanochat uses 1337", &shuffle_seed},
      {"few_shot_seed",
       "draw of the few-shot examples, plus the item's position; nanochat uses 1234",
       &few_shot_seed},
      {"baselines",
       "accuracy of guessing: nanochat's table (v1) or DCLM's later one (v2)",
       &baselines,
       {.one_of = {"v1", "v2"}}},
  };
}

}  // namespace nb
