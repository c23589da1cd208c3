#include "tests/results/import/format_corpus.hpp"

#include "tests/results/import/make_zip.hpp"
#include "tests/results/import/packed_text.hpp"

namespace nb::test {
namespace {

constexpr const char* kLmEvalRow =
    R"({"doc_id": 0, "doc": {"question": "Q", "answer": "1"}, "target": "1", "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {"until": ["\n"], "temperature": 0.0}}}, "resps": [["x 1"]], "filtered_resps": ["1"], "filter": "strict-match", "metrics": ["exact_match"], "doc_hash": "d0", "prompt_hash": "p0", "target_hash": "t0", "exact_match": 1.0}
{"doc_id": 1, "doc": {"question": "R", "choices": ["a", "b"]}, "target": "1", "arguments": [["R", " a"], ["R", " b"]], "resps": [[["-1.5", "False"]], [["-0.5", "True"]]], "filtered_resps": [["-1.5", "False"], ["-0.5", "True"]], "filter": "none", "metrics": ["acc", "acc_norm"], "doc_hash": "d1", "prompt_hash": "p1", "acc": 1.0, "acc_norm": 0.0}
)";

constexpr const char* kInspect =
    R"({"version": 2, "status": "success", "eval": {"created": "2026-01-02T03:04:05+00:00", "task": "quiz", "task_version": 2, "task_args": {"fewshot": 5}, "dataset": {"samples": 2}, "model": "vllm/a", "config": {"limit": 2, "epochs": 2, "epochs_reducer": ["max", "at_least_2"]}, "packages": {"inspect_ai": "0.3.150"}}, "plan": {"config": {"temperature": 0.5}}, "results": {"total_samples": 4, "scores": [{"name": "match", "scorer": "match", "reducer": "max", "scored_samples": 2, "metrics": {"accuracy": {"value": 1.0}, "stderr": {"value": 0.1}}}, {"name": "match", "scorer": "match", "reducer": "at_least_2", "metrics": {"accuracy": {"value": 0.5}}}]}, "samples": [{"id": 1, "epoch": 1, "input": [{"role": "user", "content": "attachment://q"}], "choices": ["a", "b"], "target": ["A"], "attachments": {"q": "Why?"}, "messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}], "output": {"completion": "A"}, "scores": {"match": {"value": "C", "answer": "A"}, "graded": {"value": {"depth": 1, "width": null}}}}, {"id": 1, "epoch": 2, "input": "Why?", "target": "A", "scores": {"match": {"value": "P"}}}, {"id": "b", "epoch": 1, "input": "How?", "target": "B", "scores": {"match": {"value": "I"}}}, {"id": "b", "epoch": 2, "input": "How?", "target": "B", "error": {"message": "x"}}]})";

constexpr const char* kInspectHeader =
    R"({"version": 3, "status": "success", "eval": {"created": "2026", "task": "quiz", "model": "vllm/a"}, "results": {"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 1.0}}}})";

// Tables as people paste them.
constexpr const char* kSmallLmEvalTable =
    "hf (pretrained=a/b,dtype=auto), gen_kwargs: (None), limit: None, num_fewshot: 5, batch_size: "
    "1\n|Tasks|Version|Filter|n-shot|Metric|   |Value |   |Stderr|\n"
    "|-----|------:|------|-----:|------|---|-----:|---|-----:|\n"
    "|mmlu |      2|none  |     0|acc   |↑  |0.6812|±  |0.0037|\n"
    "| - stem|    2|none  |     0|acc   |↑  |0.5900|±  |0.0085|\n"
    "|  - law|    1|none  |     5|acc   |↑  |0.6444|±  |   N/A|\n";

constexpr const char* kSmallOpenCompassPrinted =
    "20240814_101010\ntabulate format\n^^^^\ndataset  version  metric  mode  m\n-------  -------  "
    "------  ----  -----\ngsm8k    8e312c   score   gen   65.85\n$$$$\n\ncsv format\n^^^^\n"
    "dataset,version,metric,mode,m\ngsm8k,8e312c,score,gen,65.85 (7/8)\n$$$$\n";

constexpr const char* kSmallEvalscopePrinted =
    "┌───────┬─────────┬────────────┬────────┬─────┬───────┐\n"
    "│ Model │ Dataset │ Metric     │ Subset │ Num │ Score │\n"
    "├───────┼─────────┼────────────┼────────┼─────┼───────┤\n"
    "│ q     │ MMLU    │ Accuracy ↑ │ law    │  10 │ 30%   │\n"
    "├───────┼─────────┼────────────┼────────┼─────┼───────┤\n"
    "│ q     │ MMLU    │ Accuracy ↑ │ math   │  30 │ 50%   │\n"
    "└───────┴─────────┴────────────┴────────┴─────┴───────┘\n";

constexpr const char* kSmallAccuracyReport =
    "# a/b\n\n"
    "- **vLLM Version**: vLLM: 0.10.1.1 ([1da94e6](https://x)), **vLLM Ascend Version**: "
    "v0.10.1rc1 ([7e16b4a](https://y))  \n"
    "- **Software Environment**: **CANN**: 8.3.RC1, **PyTorch**: 2.7.1\n"
    "- **Hardware Environment**: Atlas A2 Series  \n- **Parallel mode**: TP2\n\n"
    "```bash\nlm_eval --model vllm --tasks gsm8k \\\n  --num_fewshot 5 \\\n  --batch_size "
    "auto\n```\n\n"
    "| Task                  | Metric      | Value     | Stderr |\n"
    "|-----------------------|-------------|----------:|-------:|\n"
    "| gsm8k | exact_match,strict-match | ✅0.3813 | ± 0.0134 |\n"
    "| gsm8k | exact_match,flexible-extract | ❌0.3836 | ± 0.0134 |\n";

constexpr const char* kSmallExpectation =
    "model_name: \"org/m\"\nhardware: \"Atlas A2 Series\"\nmodel_type: vllm\ntasks:\n"
    "- name: \"gsm8k\"\n  metrics:\n  - name: \"exact_match,strict-match\"\n    value: 0.83\n"
    "num_fewshot: 5\nserve:\n  dtype: auto\n  tensor_parallel_size: 2\n";

constexpr const char* kSmallNightly =
    "_benchmarks: &benchmarks\n  acc:\n    case_type: accuracy\n"
    "    dataset_conf: gsm8k/gsm8k_gen_0_shot\n    baseline: 96\n    threshold: 10\n"
    "  perf:\n    case_type: performance\n    dataset_conf: gsm8k/gsm8k_perf\n"
    "    baseline: 1250.0\n    threshold: 0.97\n"
    "test_cases:\n  - name: \"a\"\n    model: \"org/m-W8A8\"\n    benchmarks:\n"
    "      <<: *benchmarks\n";

constexpr const char* kSmallOpenCompassBaseline =
    "qwen:\n    demo_gsm8k_accuracy: 78.12\n    race-middle_accuracy: 90.46\n\nother:\n"
    "    openai_humaneval_humaneval_pass@1: 65.85\n    GPQA_diamond_accuracy: 40\n";

constexpr const char* kSmallHelmSettings =
    R"({"name": "qa:subject=x,model=org_a,k=2", "scenario_spec": {}, "adapter_spec": {"model": "org/a", "max_train_instances": 2, "method": "multiple_choice_joint"}})";

}  // namespace

std::vector<CorpusFile> format_corpus() {
  return {
      {"items CSV", "i.csv", "task,item,outcome,prediction,gold\nt,1,1,a,b\nt,2,0.5,c,\"d, e\"\n"},
      {"totals CSV", "t.csv", "task,accuracy,n,stderr\nmmlu,0.65,14042,0.004\ngsm8k,0.712,1319,\n"},
      {"lm-evaluation-harness results", "results_2026-03-05T01-42-01.144314.json",
       R"({"results": {"mmlu": {"acc,none": 0.5, "acc_stderr,none": 0.02, "sample_count": {"acc,none": 9}}, "mmlu_law": {"acc,none": 0.5, "acc_stderr,none": "N/A", "alias": " - law"}, "gsm8k": {"exact_match,strict-match": 0.25, "sample_len": 4}}, "group_subtasks": {"mmlu": ["mmlu_law"], "gsm8k": []}, "configs": {"gsm8k": {"num_fewshot": 5, "generation_kwargs": {"until": ["\n"], "temperature": 0.0}, "filter_list": [{"name": "strict-match"}]}}, "versions": {"gsm8k": 3.0}, "n-shot": {"gsm8k": 5}, "higher_is_better": {"gsm8k": {"exact_match": true}}, "n-samples": {"mmlu_law": {"original": 9, "effective": 9}}, "config": {"model": "vllm", "model_args": "pretrained=a/b,dtype=float16", "batch_size": "auto", "gen_kwargs": {"top_p": 0.9}}, "git_hash": "afd9887", "date": 1772674299.08, "max_length": 4096, "pretty_env_info": "PyTorch version: 2.9.1\nGPU 0: X1\n", "model_name": "a/b"})"},
      {"lm-evaluation-harness samples", "samples_t_2026-03-05T01-42-01.144314.jsonl", kLmEvalRow},
      {"lm-evaluation-harness samples", "samples_u.jsonl.gz", gzip_of(kLmEvalRow)},
      {"lm-evaluation-harness samples", "samples_v.jsonl", utf16_of(kLmEvalRow)},
      {"lm-evaluation-harness write_out", "m/t_write_out_info.json",
       R"x([{"doc_id": 0, "prompt_0": "Q", "logit_0": "-1.5", "truth": "1", "acc": "1.0", "missing": "0"}, {"doc_id": 1, "prompt_0": "R", "logit_0": "-2", "truth": "0", "acc": "0.0", "f1": "(0, 1)"}])x"},
      {"lm-evaluation-harness or lighteval, printed table", "log.txt", kSmallLmEvalTable},
      {"inspect_ai log (JSON)", "log.json", kInspect},
      {"inspect_ai log (.eval)", "log.eval",
       zip_of(
           {{"_journal/start.json", "{}", 0},
            {"samples/1_epoch_1.json",
             R"({"id": 1, "epoch": 1, "input": "Q", "target": "t", "score": {"value": "C"}})", 8},
            {"header.json", kInspectHeader, 93}})},
      {"lighteval results", "results_2026-03-05T01-42-01.144314.json",
       R"({"config_general": {"model_name": "a/b", "lighteval_sha": "x"}, "results": {"leaderboard|arc:challenge|25": {"acc_norm": 0.5, "acc_norm_stderr": 0.01}, "all": {"acc": 0.5}}, "versions": {"leaderboard|arc:challenge|25": 0}, "config_tasks": {"leaderboard|arc:challenge": {"effective_num_docs": 100, "original_num_docs": 1172, "metric": [{"metric_name": "acc_norm", "higher_is_better": true}]}}, "summary_tasks": {}})"},
      {"lighteval details", "details_t_2026-03-05T01-42-01.144314.jsonl",
       R"({"doc": {"id": "0", "task_name": "arc|0", "query": "Q", "choices": ["a", "b"], "gold_index": 1}, "model_response": {"input": "Q", "logprobs": [-1.5, -0.5], "text": ["b"]}, "metric": {"acc": 1.0, "acc_norm": 0}})"
       "\n"},
      {"opencompass summary", "20260101_101010/summary/summary_20260101_101010.csv",
       "dataset,version,metric,mode,m7\ngsm8k,1d7fe4,accuracy,gen,82.00 "
       "(7/8)\nmmlu,-,naive_average,"
       "gen,65.21\n"},
      {"opencompass or AISBench, printed summary", "summary.txt", kSmallOpenCompassPrinted},
      {"opencompass results", "20260101_101010/results/m7/gsm8k.json",
       R"({"accuracy": 50.0, "details": {"0": {"prompt": "Q", "origin_prediction": "1", "predictions": "1", "references": "1", "correct": true}, "1": {"prompt": [{"role": "HUMAN", "prompt": "R"}], "origin_prediction": ["2"], "predictions": ["2"], "references": "3", "correct": [false]}}})"},
      {"opencompass predictions", "20260101_101010/predictions/m7/gsm8k.json",
       R"({"0": {"origin_prompt": "Q", "prediction": "1", "gold": "1"}})"},
      {"vllm-ascend accuracy report", "report.md", kSmallAccuracyReport},
      {"vllm-ascend accuracy expectation", "m.yaml", kSmallExpectation},
      {"vllm-ascend nightly baseline", "m.yaml", kSmallNightly},
      {"opencompass baseline", "oc_score_baseline.yaml", kSmallOpenCompassBaseline},
      {"Google Benchmark", "b.json",
       R"({"context": {"date": "2026", "executable": "./b", "num_cpus": 8, "library_build_type": "release"}, "benchmarks": [{"name": "a", "run_name": "a", "run_type": "iteration", "real_time": 1.5, "cpu_time": 1.5, "time_unit": "ms", "items_per_second": 3}]})"},
      {"evalscope reviews", "o/reviews/m/q_default.jsonl",
       R"({"index": 0, "input": "**User**: \nQ", "target": "1", "sample_score": {"score": {"value": {"acc": 1.0}, "extracted_prediction": "1", "prediction": "1", "main_score_name": "acc"}, "sample_id": 0, "group_id": 0}})"
       "\n"
       R"({"index": 1, "choices": [{"review": {"gold": "1", "pred": "2", "result": 0}, "message": {"content": "x"}}], "review_id": "r", "raw_input": "Q"})"
       "\n"},
      {"evalscope report", "o/reports/m/q.json",
       R"({"schema_version": 2, "dataset_name": "q", "model_name": "m", "metrics": [{"identity": {"name": "acc", "aggregation": "mean", "dimensions": {}}, "num": 8, "score": 0.5, "categories": [{"name": ["default"], "subsets": [{"name": "a", "score": 0.25, "num": 4}, {"name": "b", "score": 0.75, "num": 4}, {"name": "c", "score": 0.0, "num": 0}]}], "semantics": {"direction": "higher_is_better", "raw_unit": null, "value_range": {"min": 0.0, "max": 1.0}}}, {"identity": {"name": "acc", "aggregation": "pass_at_k", "dimensions": {"k": 2}}, "num": 4, "score": 0.75}], "primary_metric_identity": {"name": "acc", "aggregation": "mean", "dimensions": {}}, "execution_summary": {"requested": 9, "succeeded": 8}})"},
      {"evalscope predictions", "o/predictions/m/q_default.jsonl",
       R"({"index": 0, "model": "m", "model_output": {"choices": []}})"
       "\n"},
      {"evalscope, printed table", "log.txt", kSmallEvalscopePrinted},
      {"evalscope perf summary", "p/benchmark_summary.json",
       R"x({"Test Duration (s)": 4.0, "Concurrency": 8, "Request Rate (req/s)": -1.0, "Total Requests": 100, "Failed Requests": 1, "Avg Latency (s)": 0.3, "Output Throughput (tok/s)": 800.0})x"},
      {"evalscope perf percentiles", "p/benchmark_percentile.json",
       R"x([{"Percentiles": "50%", "TTFT (ms)": 40.0, "Latency (s)": 0.28}, {"Percentiles": "99%", "TTFT (ms)": 75.0, "Latency (s)": 0.5}])x"},
      {"evalscope perf log", "p/benchmark.log",
       "\"model\": \"m\"\nBenchmarking summary:\n│ Metric │ Value │\n│ Concurrency │ 8 │\n│ Total "
       "/ "
       "Success / Failed │ 100 / 99 / 1 │\n│ Avg Latency (s) │ 0.3 │\n"},
      {"AISBench performance, requests", "performances/m/gsm8k.csv",
       "Performance Parameters,Stage,Average,Min,P99,N\r\nE2EL,total,12300.2 ms,12295.9 ms,12305.1 "
       "ms,8\r\nOutputTokens,total,512.0,512.0,512.0,8\r\n"},
      {"AISBench performance, printed", "perf.log",
       "INFO Performance Results of task [m/gsm8k]:\n│ Performance Parameters │ Stage │ Average │ "
       "N │\n"
       "│ E2EL │ total │ 12300.2 ms │ 8 │\n│ Common Metric │ Stage │ Value │\n"
       "│ Max Concurrency │ total │ 4 │\n│ Request Throughput │ total │ 0.08 req/s │\n"},
      {"AISBench performance, whole load", "performances/m/gsm8k.json",
       R"({"Benchmark Duration": {"total": "98409.4916 ms"}, "Total Requests": {"total": 8}, "Failed Requests": {"total": 1}, "Concurrency": {"total": 0.9999}, "Max Concurrency": {"total": 1}, "Request Throughput": {"total": "0.0813 req/s"}, "Output Token Throughput": {"total": "41.622 token/s"}})"},
      {"vllm bench serve", "serve.json",
       R"({"date": "20260601", "endpoint_type": "vllm", "label": null, "model_id": "m", "num_prompts": 200, "request_rate": "inf", "max_concurrency": 64, "duration": 12.5, "completed": 200, "failed": 1, "total_input_tokens": 2048, "request_throughput": 16.0, "output_throughput": 2048.0, "ttfts": [0.1], "mean_ttft_ms": 100.0, "p99_ttft_ms": 150.0})"
       "\n"},
      {"bigcode-evaluation-harness", "evaluation_results.json",
       R"({"humaneval": {"pass@1": 0.152, "pass@10": 0.24}, "config": {"model": "m", "n_samples": 20, "temperature": 0.2, "limit": 4, "metric_output_path": "evaluation_results.json"}})"},
      {"HELM per-instance statistics", "mmlu:model=a_b/per_instance_stats.json", R"([{"instance_id": "id1", "train_trial_index": 0, "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1.0}]}, {"instance_id": "id2", "perturbation": {"name": "typos", "computed_on": "perturbed"}, "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 0.0}]}])"},
      {"HELM statistics", "mmlu:model=a_b/stats.json",
       R"([{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 0.5}, {"name": {"name": "num_train_trials"}, "count": 1, "sum": 1}])"},
      {"HELM run settings and texts", "mmlu:model=a_b/run_spec.json", kSmallHelmSettings},
      {"human-eval result lines", "samples.jsonl_results.jsonl",
       R"({"task_id": "HumanEval/0", "completion": "  return 1", "result": "passed", "passed": true})"
       "\n"
       R"({"task_id": "HumanEval/1", "completion": "  return 2", "result": "failed", "passed": false})"
       "\n"},
      {"evalplus results", "m_eval_results.json",
       R"({"date": "2026", "hash": "h", "eval": {"HumanEval/0": [{"task_id": "HumanEval/0", "solution": "def f(): pass", "base_status": "pass", "plus_status": "fail", "base_fail_tests": [], "plus_fail_tests": []}]}, "pass_at_k": {"base": {"pass@1": 1.0}, "plus": {"pass@1": 0.0}}})"},
      {"EvalPerf results", "m_evalperf.json",
       R"({"date": "2026", "config": {"n_samples": 100, "min_correct": 10}, "eval": {"HumanEval/0": {"dps": 80.5, "dps_norm": 79, "pass@1": 90}, "Mbpp/2": {"dps": null, "pass@1": 5}}, "summary": {"dps": 80.5, "dps_norm": 79, "pass@1": 47.5}})"},
      {"evalplus leaderboard", "results.json",
       R"({"m": {"link": "https://x", "open-data": "NONE", "pass@1": {"humaneval": 68.9, "humaneval+": 61.6, "mbpp": null}, "prompted": true, "size": 7}})"},
      {"DCLM evaluation", "m.json",
       R"({"name": "m", "uuid": "u", "creation_date": "2024", "eval_metrics": {"icl": {"arc_easy": 0.5, "mmlu": 0.3}, "perplexity": null}, "aggregated_task_categories_centered": {}, "eval_version": "v2", "low_variance_datasets": 0.3})"},
  };
}

}  // namespace nb::test
