#include "results/import/formats.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/fs.hpp"
#include "results/foreign/text_stream.hpp"
#include "results/import/readers.hpp"

namespace nb {
namespace {

constexpr std::size_t kHeadBytes = 64 * 1024;

constexpr ImportFormat kFormats[] = {
    {"items CSV", "columns [task,] item, outcome [, prediction, gold]", is_items_csv,
     read_items_csv},
    {"totals CSV", "columns task, accuracy, n [, stderr]", is_totals_csv, read_totals_csv},
    {"lm-evaluation-harness results",
     "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/result_schema.py", is_lm_eval_results,
     read_lm_eval_results},
    {"lm-evaluation-harness samples",
     "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/evaluator.py", is_lm_eval_samples,
     read_lm_eval_samples},
    {"lm-evaluation-harness write_out",
     "EleutherAI/lm-evaluation-harness @ v0.3.0: lm_eval/evaluator.py", is_lm_eval_write_out,
     read_lm_eval_write_out},
    {"lm-evaluation-harness or lighteval, printed table",
     "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/utils.py (make_table), @ v0.3.0: "
     "lm_eval/evaluator.py; vllm-project/vllm-ascend: its accuracy reports (issues 790, 2585)",
     is_lm_eval_printed, read_lm_eval_printed},
    {"inspect_ai log (.eval)",
     "UKGovernmentBEIS/inspect_ai @ 499e6152e: src/inspect_ai/log/_log.py, _recorders/eval.py",
     is_inspect_eval, read_inspect_eval},
    {"inspect_ai log (JSON)", "UKGovernmentBEIS/inspect_ai @ 499e6152e: src/inspect_ai/log/_log.py",
     is_inspect_json, read_inspect_json},
    {"lighteval results", "huggingface/lighteval @ 3fd15266: src/lighteval/logging/info_loggers.py",
     is_lighteval_results, read_lighteval_results},
    {"lighteval details", "huggingface/lighteval @ 3fd15266: src/lighteval/logging/info_loggers.py",
     is_lighteval_details, read_lighteval_details},
    {"opencompass summary",
     "open-compass/opencompass @ a5acc4bb: opencompass/summarizers/default.py",
     is_opencompass_summary, read_opencompass_summary},
    {"opencompass or AISBench, printed summary",
     "open-compass/opencompass @ a5acc4bb: opencompass/summarizers/default.py; AISBench/benchmark "
     "@ 29c363e: ais_bench/benchmark/summarizers/default.py, harbor.py",
     is_opencompass_printed, read_opencompass_printed},
    {"opencompass results",
     "open-compass/opencompass @ a5acc4bb: opencompass/tasks/openicl_eval.py",
     is_opencompass_results, read_opencompass_results},
    {"opencompass predictions",
     "open-compass/opencompass @ a5acc4bb: opencompass/openicl/icl_inferencer",
     is_opencompass_predictions, read_opencompass_predictions},
    {"vllm-ascend accuracy report",
     "vllm-project/vllm-ascend @ 182b75ea: tests/e2e/models, its report template",
     is_accuracy_report, read_accuracy_report},
    {"vllm-ascend accuracy expectation",
     "vllm-project/vllm-ascend @ 182b75ea: tests/e2e/models/configs", is_accuracy_expectation,
     read_accuracy_expectation},
    {"vllm-ascend nightly baseline",
     "vllm-project/vllm-ascend @ 182b75ea: tests/e2e/nightly/single_node/models/configs, "
     "tools/aisbench.py",
     is_nightly_baseline, read_nightly_baseline},
    {"opencompass baseline",
     "open-compass/opencompass @ a5acc4bb: autotest/oc_score_baseline.yaml, "
     "autotest/utils/oc_score_assert.py",
     is_opencompass_baseline, read_opencompass_baseline},
    {"Google Benchmark", "google/benchmark @ 267a1115: docs/user_guide.md", is_google_benchmark,
     read_google_benchmark},
    {"evalscope reviews", "modelscope/evalscope @ fde259d2: evalscope/api/evaluator/cache.py",
     is_evalscope_reviews, read_evalscope_reviews},
    {"evalscope report", "modelscope/evalscope @ fde259d2: evalscope/report/report.py",
     is_evalscope_report, read_evalscope_report},
    {"evalscope predictions", "modelscope/evalscope @ fde259d2: evalscope/api/evaluator/cache.py",
     is_evalscope_predictions, read_evalscope_predictions},
    {"evalscope, printed table",
     "modelscope/evalscope @ fde259d2: evalscope/report/combinator.py, report.py; README.md",
     is_evalscope_printed, read_evalscope_printed},
    {"evalscope perf summary",
     "modelscope/evalscope @ fde259d2: evalscope/perf/utils/perf_constants.py, perf_models.py",
     is_evalscope_perf, read_evalscope_perf},
    {"evalscope perf percentiles",
     "modelscope/evalscope @ fde259d2: evalscope/perf/utils/perf_constants.py, db_util.py",
     is_evalscope_perf_percentiles, read_evalscope_perf_percentiles},
    {"evalscope perf log",
     "modelscope/evalscope @ fde259d2: evalscope/perf/utils/perf_models.py, to_table",
     is_evalscope_perf_table, read_evalscope_perf_table},
    {"AISBench performance, whole load",
     "AISBench/benchmark @ 29c363e: ais_bench/benchmark/calculators/base_perf_metric_calculator.py",
     is_aisbench_perf, read_aisbench_perf},
    {"AISBench performance, requests",
     "AISBench/benchmark @ 29c363e: ais_bench/benchmark/calculators/base_perf_metric_calculator.py",
     is_aisbench_perf_requests, read_aisbench_perf_requests},
    {"AISBench performance, printed",
     "AISBench/benchmark @ 2a92ffd1: ais_bench/benchmark/summarizers/default_perf.py",
     is_aisbench_printed, read_aisbench_printed},
    {"vllm bench serve", "vllm-project/vllm @ 009e6d4a: vllm/benchmarks/serve.py", is_vllm_serve,
     read_vllm_serve},
    {"bigcode-evaluation-harness",
     "bigcode-project/bigcode-evaluation-harness @ 8fc5bae: main.py, bigcode_eval/evaluator.py",
     is_bigcode_results, read_bigcode_results},
    {"HELM per-instance statistics",
     "stanford-crfm/helm @ 63754d05: src/helm/benchmark/metrics/metric.py", is_helm_instances,
     read_helm_instances},
    {"HELM statistics", "stanford-crfm/helm @ 63754d05: src/helm/benchmark/metrics/statistic.py",
     is_helm_stats, read_helm_stats},
    {"HELM run settings and texts", "stanford-crfm/helm @ 63754d05: src/helm/benchmark/runner.py",
     is_helm_setting, read_helm_setting},
    {"human-eval result lines", "openai/human-eval @ 6d43fb9: human_eval/evaluation.py",
     is_human_eval_lines, read_human_eval_lines},
    {"evalplus results", "evalplus/evalplus @ 26d6d00: evalplus/evaluate.py", is_evalplus_results,
     read_evalplus_results},
    {"EvalPerf results", "evalplus/evalplus @ 26d6d00: evalplus/evalperf.py", is_evalperf_results,
     read_evalperf_results},
    {"evalplus leaderboard", "evalplus/evalplus.github.io @ 87418456: results.json",
     is_evalplus_leaderboard, read_evalplus_leaderboard},
    {"DCLM evaluation", "mlfoundations/dclm @ 361714b: eval/aggregated_metrics.py, exp_data/evals",
     is_dclm, read_dclm},
};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::string_view without_blanks_in_front(std::string_view text) {
  text = without_byte_order_mark(text);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

// Position after the string that begins at text[at] == '"'; npos where the head ends in it.
std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return at + 1;
  }
  return std::string_view::npos;
}

// A key of the object that begins the text, on its top level.
bool has_key(std::string_view text, std::string_view key) {
  text = without_blanks_in_front(text);
  if (!text.starts_with('{')) return false;
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = after_string(text, at);
      if (end == std::string_view::npos) return false;
      std::size_t next = end;
      while (next < text.size() && is_space(text[next])) ++next;
      const bool is_key = next < text.size() && text[next] == ':';
      if (depth == 1 && is_key && text.substr(at + 1, end - at - 2) == key) return true;
      at = end;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth == 0) return false;
    ++at;
  }
  return false;
}

struct FormatHead {
  std::string bytes;
  bool whole = false;
  TextCoding coding = TextCoding::kPlain;
};

Result<FormatHead> format_head(const fs::path& path) {
  NB_TRY(const TextStream stream, TextStream::open(path));
  NB_TRY(std::string bytes, read_decoded(path, kHeadBytes + 1));
  const bool whole = bytes.size() <= kHeadBytes;
  bytes.resize(std::min(bytes.size(), kHeadBytes));
  return FormatHead{std::move(bytes), whole, stream.coding()};
}

const ImportFormat* format_of(const fs::path& path, const FormatHead& head) {
  const FileHead view{path, head.bytes, head.whole};
  for (const ImportFormat& format : kFormats)
    if (format.recognises(view)) return &format;
  return nullptr;
}

std::string beginning_of(const FormatHead& head) {
  std::string text;
  for (const char c : without_blanks_in_front(head.bytes).substr(0, 40))
    text +=
        (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) ? '?' : c;
  return text;
}

Result<std::vector<fs::path>> files_under(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_regular_file(path, error)) return std::vector<fs::path>{path};
  if (!fs::is_directory(path, error))
    return bad_input(fmt::format("{}: there is no such file or folder", path.string()));
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error))
    if (at->is_regular_file(error)) files.push_back(at->path());
  if (error)
    return bad_input(fmt::format("{}: cannot be listed: {}", path.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::span<const ImportFormat> import_formats() { return kFormats; }

bool head_has_key(const FileHead& head, std::string_view key) { return has_key(head.bytes, key); }

bool head_is_jsonl_with(const FileHead& head, std::span<const std::string_view> keys) {
  const std::string_view text = without_blanks_in_front(head.bytes);
  const std::size_t end = text.find('\n');
  // A first line longer than the head is judged by what there is of it.
  const std::string_view line = text.substr(0, end);
  return std::all_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return has_key(line, key); });
}

Result<bool> holds_known_format(const fs::path& path) {
  NB_TRY(const auto files, files_under(path));
  for (const fs::path& file : files) {
    NB_TRY(const FormatHead head, format_head(file));
    if (format_of(file, head) != nullptr) return true;
  }
  return false;
}

Result<ForeignResults> read_foreign(const fs::path& path, ForeignBuilder::Look look,
                                    std::vector<std::string> names) {
#ifdef __GLIBC__
  // Vectors of items double: each in a map of its own is given back whole when it is left. By
  // itself the limit grows to 32 MB (mallopt(3)), and what two sides of 300 MB leave behind stays.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
  NB_TRY(const auto files, files_under(path));
  ForeignBuilder builder;
  if (look) builder.look(std::move(look), std::move(names));
  std::vector<ForeignResults::File> seen;
  std::string first_unknown;
  bool any = false;
  for (const fs::path& file : files) {
    NB_TRY(const FormatHead head, format_head(file));
    const ImportFormat* format = format_of(file, head);
    seen.push_back({file, format == nullptr ? "" : format->name});
    if (format == nullptr) {
      if (first_unknown.empty()) first_unknown = beginning_of(head);
      continue;
    }
    any = true;
    NB_TRY_VOID(format->read(file, builder));
  }
  if (!any && files.size() == 1)
    return bad_input(fmt::format("{}: not a known result file (it begins with \"{}\"; {})",
                                 path.string(), first_unknown, kListsFormats));
  if (!any)
    return bad_input(fmt::format("{}: none of its {} files is a known result file ({})",
                                 path.string(), files.size(), kListsFormats));
  ForeignResults results = builder.finish();
  results.path = path;
  results.files = std::move(seen);
  if (results.runs.empty()) return bad_input(fmt::format("{}: holds no scores", path.string()));
  return results;
}

}  // namespace nb
