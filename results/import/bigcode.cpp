// bigcode-evaluation-harness: {task: {metric: value}, …, "config": arguments of the program}.
// main.py @ 8fc5bae: metrics are shares (pass@k of n_samples each); the number of problems is not
// said but by --limit.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "results/foreign/lines.hpp"
#include "results/import/lm_eval.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

// Arguments of the program that say how the answers were made: main.py, arguments.py @ 8fc5bae.
constexpr const char* kSettings[] = {"revision",
                                     "n_samples",
                                     "precision",
                                     "load_in_8bit",
                                     "load_in_4bit",
                                     "batch_size",
                                     "seed",
                                     "prefix",
                                     "do_sample",
                                     "temperature",
                                     "top_k",
                                     "top_p",
                                     "eos",
                                     "max_length_generation",
                                     "instruction_tokens",
                                     "prompt",
                                     "peft_model",
                                     "limit",
                                     "limit_start"};

void state_task(const std::string& task, const Json& row, const Json& config,
                const std::string& path, ForeignRun& run, ForeignBuilder& builder) {
  for (const auto& [metric, value] : row.items()) {
    double number = 0;
    if (!number_of(value, number)) {
      builder.ignore(message("import.no_number", path, fmt::format("{}/{}", task, metric)));
      continue;
    }
    ForeignSeries& series = builder.series(run, {task, "", metric});
    series.reported = number;
    series.reported_n = count_of(member_of(config, "limit"));
  }
}

}  // namespace

bool is_bigcode_results(const FileHead& head) {
  return head_has_key(head, "config") &&
         head.bytes.find("\"metric_output_path\"") != std::string_view::npos;
}

Result<void> read_bigcode_results(const std::filesystem::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json results, read_foreign_json(path, NotNumbers::kAsTexts));
  const Json& config = member_of(results, "config");
  const std::string model = text_of(member_of(config, "model"));
  if (model.empty()) return bad_input(path.string() + ": /config/model is missing");
  ForeignRun* run = nullptr;
  for (const auto& [task, row] : results.items()) {
    if (task == "config") continue;
    if (!row.is_object()) {
      builder.ignore(message("import.no_metrics", path.string(), task));
      continue;
    }
    if (run == nullptr) run = &builder.run("bigcode-evaluation-harness", model);
    if (!builder.is_latest(*run, task, path.filename().string(), path)) continue;
    state_task(task, row, config, path.string(), *run, builder);
    mark_primary(*run, task, builder);
  }
  if (run == nullptr) return {};
  run->files.push_back(path);
  for (const char* key : kSettings) builder.say(*run, key, text_of(member_of(config, key)));
  return {};
}

}  // namespace nb
