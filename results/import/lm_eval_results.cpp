// results_<time>.json of lm-evaluation-harness 0.4, and the results files of 0.3.
#include <nlohmann/json.hpp>

#include "results/foreign/lines.hpp"
#include "results/import/lm_eval.hpp"
#include "results/import/readers.hpp"

namespace nb {

bool is_lm_eval_results(const FileHead& head) {
  if (!head_has_key(head, "results")) return false;
  // "config_general" is lighteval's, "eval" inspect_ai's.
  if (head_has_key(head, "config_general") || head_has_key(head, "eval")) return false;
  if (head_has_key(head, "versions") || head_has_key(head, "n-shot")) return true;
  // So many tasks that the head ends among their results.
  return !head.whole && head.bytes.find("_stderr") != std::string_view::npos;
}

Result<void> read_lm_eval_results(const std::filesystem::path& path, ForeignBuilder& builder) {
  NB_TRY(const LmEvalResults results, parse_lm_eval_results(path, builder));
  const std::string stamp = lm_eval_name(path).stamp;
  for (const auto& [task, row] : member_of(*results.json, "results").items()) {
    if (!row.is_object())
      return bad_input(path.string() + ": /results/" + task + " is no object of metrics");
    ForeignRun& run = lm_eval_run(results, task, builder);
    if (builder.is_latest(run, task, stamp, path)) state_lm_eval_task(results, task, run, builder);
  }
  return {};
}

}  // namespace nb
