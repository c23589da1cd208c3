// What the readers of EleutherAI/lm-evaluation-harness share: what a results file says of its run
// and of each task. Releases 0.3 (plain keys: "acc") and 0.4 (metric, comma, filter: "acc,none").
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.hpp"
#include "results/import/builder.hpp"

namespace nb {

inline constexpr const char* kLmEval = "lm-evaluation-harness";

// "samples_gsm8k_2026-01-21T03-44-18.458309.jsonl" in its parts.
struct LmEvalName {
  std::string stem;   // "samples_gsm8k"
  std::string stamp;  // "2026-01-21T03-44-18.458309": one per run; empty: the name has none
};
LmEvalName lm_eval_name(const std::filesystem::path& path);

// A results file, parsed. Both readers look at it: the one of results takes all of its tasks, the
// one of samples the task that it has the rows of.
struct LmEvalResults {
  std::filesystem::path path;
  std::shared_ptr<const Json> json;
  // Of each task the groups that list it, with how many members they have.
  using Groups = std::map<std::string, std::vector<std::pair<std::string, std::size_t>>>;
  Groups groups_of;
};
// Parsed once for all that ask the same builder. Errors: not JSON (file:line:column; a bare NaN
// says so), "results" is no object.
Result<LmEvalResults> parse_lm_eval_results(const std::filesystem::path& path,
                                            ForeignBuilder& builder);
bool has_lm_eval_task(const LmEvalResults& results, const std::string& task);
// Metric and filter of a key of a task's results: "acc_norm,none" or "acc". Nothing for what is no
// score: "alias", "acc_stderr,none", "sample_len".
std::optional<SeriesName> lm_eval_series(const std::string& task, const std::string& key);

// The run that these results belong to, with its provenance. Where the same task is known already
// with other shots it is a run of its own, with the stage "5-shot". A revision of the weights that
// is not "main" is the stage, too: checkpoints of one training are several runs.
ForeignRun& lm_eval_run(const LmEvalResults& results, const std::string& task,
                        ForeignBuilder& builder);
// The task's series with what the source reports, and which of them is primary.
void state_lm_eval_task(const LmEvalResults& results, const std::string& task, ForeignRun& run,
                        ForeignBuilder& builder);
// The headline number of a task, by its series' names: acc_norm, else acc, else exact_match, of
// several filters the strict one; else the first there is.
void mark_primary(ForeignRun& run, const std::string& task, ForeignBuilder& builder);

// "pretrained=a/b,dtype=float16" by names; the model that they name, empty where none is; the
// others but dtype and revision, as one text.
std::map<std::string, std::string> lm_eval_arguments(const std::string& text);
std::string lm_eval_model(const std::map<std::string, std::string>& arguments);
std::string lm_eval_other_arguments(const std::map<std::string, std::string>& arguments);

// The run of files that name no model. lm-eval names its folder after it, with "__" for a slash; a
// folder of any other name is the user's ("gpu"), and then the model is empty and the folder a run.
ForeignRun& lm_eval_folder_run(const std::filesystem::path& folder, const std::string& stage,
                               ForeignBuilder& builder);

// The folder that lm-eval names after the model: "sarvamai__sarvam-1" → "sarvamai/sarvam-1".
std::string lm_eval_folder_model(const std::filesystem::path& folder);

}  // namespace nb
