// One evaluation outside a suite, as `npubench eval` asks for it: a model (or texts that are there
// already) and tasks. A node like any other, in a folder of its own under <results>/eval.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "evals/base/eval_result.hpp"
#include "evals/base/eval_settings.hpp"
#include "evals/show_prompts.hpp"
#include "harness/base/result.hpp"
#include "harness/remote/server.hpp"
#include "harness/run/open_model.hpp"
#include "results/store/record.hpp"

namespace nb {

struct EvaluationRequest {
  ModelChoice model;        // without `model`: server, completions or rescore says who answers
  ServerChoice server;      // with `url`: a server answers (model.tokenizer is its tokenizer)
  std::string completions;  // JSONL of texts, one task only
  std::string completions_member;         // of each line, that holds the text (completions.hpp)
  std::string completions_form = "auto";  // "answer", "completion", "program" (TextForm)
  bool ignore_incomplete = false;         // items without completions are left out
  std::string rescore;  // folder of an evaluation whose stored texts are graded again
  EvalSettings settings;
  std::int64_t batch_items = 32;
  std::int64_t shard = 0;  // this process does item i when i mod shards = shard
  std::int64_t shards = 1;
  std::vector<std::string> faults;  // planted (harness/faults)
  std::filesystem::path results_dir;
  std::string suite = "eval";  // folder below results_dir
  std::filesystem::path data_dir;
  bool fresh = false;  // reuse nothing
};

struct EvaluationOutcome {
  std::filesystem::path folder;
  bool is_reused = false;    // the same evaluation was there already
  bool is_complete = false;  // false: items of other shards are missing; there is no record yet
  std::int64_t items_done = 0;
  std::int64_t items_expected = 0;
  std::int64_t items_resumed = 0;    // of them, found from an interrupted or another process
  std::vector<std::string> changed;  // rescore: "<task>/<item>: was right, is wrong", in order
  std::vector<std::string> notes;    // of completions: how they were read, what looks wrong
  Record record;                     // when complete
};

Result<EvaluationOutcome> run_evaluation(const EvaluationRequest& request);

// What the request's model would be asked, of the first items of every task; writes nothing.
Result<std::vector<ShownTask>> prompts_of(const EvaluationRequest& request, std::int64_t items);

}  // namespace nb
