#include "harness/cli/verb.hpp"

namespace nb::cli {
namespace {

constexpr Verb kCompare[] = {
    {"runs", "two results, ours or another harness's, or two devices of one run",
     "npubench compare gpu/samples_gsm8k.jsonl npu/samples_gsm8k.jsonl", add_compare_runs},
    {"stages", "did a later stage of a run, or of a report card, help?",
     "npubench compare stages results/runs/smoke mid sft", add_compare_stages},
    {"effects", "what each factor of an experiment makes of each metric, and its share of the gap",
     "npubench compare effects results/runs/ablation", add_compare_effects},
    {"tensors", "the first op, or of ranks the first step and tensor, that differs",
     "npubench compare tensors captures/gpu captures/npu", add_compare_tensors},
    {"drift", "how far arithmetic alone lets all devices of a run drift from one",
     "npubench compare drift results/runs/arithmetic fp32", add_compare_drift},
};
constexpr Verb kGate[] = {
    {"check", "did it get worse? verdicts and an exit code for scripts",
     "npubench gate baseline/smoke results/runs/smoke", add_gate_check},
    {"accept", "a run is the baseline from now on",
     "npubench gate accept results/runs/smoke --why \"new tokenizer, reviewed\"", add_gate_accept},
    {"aa", "A/A control: did the same keys give the same bits twice?",
     "npubench gate aa results/runs/first results/runs/second", add_gate_aa},
    {"calibrate", "write the noise profile of healthy runs",
     "npubench gate calibrate results/runs/five_seeds --out noise.json", add_gate_calibrate},
};
constexpr Verb kPredict[] = {
    {"step", "time and memory of a full-scale training step by a dry run",
     "npubench predict --device ascend_910b3 --depth 20 --cards 8", add_predict_step},
    {"sweep", "a step for each value of some flags: a table, CSV or a plot",
     "npubench predict sweep cards=1,2,4,8 --device ascend_910b3", add_predict_sweep},
    {"claims", "published rates, memory and times: can they be true?",
     "npubench predict claims published:seed_memory --device ascend_910b3", add_predict_claims},
    {"validate", "every measured row beside its prediction, with the errors",
     "npubench predict validate", add_predict_validate},
    {"calibrate", "fit the families' constants on the rows marked fit",
     "npubench predict calibrate --family nanochat_npu", add_predict_calibrate},
};
constexpr Verb kRuns[] = {
    {"list", "runs of a folder, the newest first, with devices, status and damage",
     "npubench runs list --results-dir results/nights --limit 20", add_runs_list},
    {"metrics", "metrics that the runs have", "npubench runs metrics smoke", add_runs_metrics},
    {"history", "a metric over runs and nights: table, CSV, JSON or plot, with changes of level",
     "npubench runs history val_bpb --results-dir results/nights", add_history},
    {"gc", "show which old nights would be removed; --yes removes them",
     "npubench runs gc results/nights --keep-last 30 --yes", add_runs_gc},
    {"reindex", "read every record of a folder again and write its index anew",
     "npubench runs reindex results/nights", add_runs_reindex},
};

constexpr Verb kVerbs[] = {
    {"plan", "list the nodes of a suite, what is reused, expected time, disk and memory",
     "npubench plan suites/smoke.json", add_plan},
    {"run", "run a suite: train, evaluate, measure, predict; resumes by itself",
     "npubench run suites/smoke.json", add_run},
    {"train", "train one model from flags; --profile shows how the host spends the time",
     "npubench train --depth 4 --steps 20 --device ascend_910b3 --profile", add_train},
    {"eval", "evaluate a model, or score existing completions; resumes by itself",
     "npubench eval --model oracle --task mw", add_eval},
    {"chat", "talk to a trained model in the terminal",
     "npubench chat --model results/runs/smoke/1a2b --prompt \"The sky is\"", add_chat},
    {"serve", "a trained model behind OpenAI's protocol, and a page to chat with it",
     "npubench serve --model results/runs/smoke/1a2b --port 8000", add_serve},
    {"tokenizer", "train a tokenizer; text to ids and back; compression beside GPT-2 and GPT-4",
     "npubench tokenizer train --text text/tinyshakespeare --vocab-size 4096", add_tokenizer},
    {"compare", "compare any two results, ours or another harness's, or two devices of one run",
     "npubench compare gpu/samples_gsm8k.jsonl npu/samples_gsm8k.jsonl", add_compare_runs,
     kCompare},
    {"gate", "did it get worse? verdicts and an exit code for scripts",
     "npubench gate baseline/smoke results/runs/smoke", add_gate_check, kGate},
    {"nightly", "one night: run or import, gate, report, remove old nights; the gate's exit code",
     "npubench nightly suites/nightly.json --nights results/nights", add_nightly},
    {"show", "look at items: question, prompt, choices, log-probabilities, answer, score",
     "npubench show results/runs/smoke --task mw/facts --node ascend_910b3 --item 4", add_show},
    {"audit", "can a published table be true? rules over scores, times, memory and claims",
     "npubench audit published:seed_result_table", add_audit},
    {"report", "write Markdown, HTML, CSV and plots of a run", "npubench report results/runs/smoke",
     add_report},
    {"history", "a metric over runs and nights: table, CSV, JSON or plot, with changes of level",
     "npubench history val_bpb --results-dir results/nights", add_history},
    {"import", "read another harness's results; say what was understood, or keep them as a run",
     "npubench import results_2026-01-21.json --out results/runs/gpu", add_import},
    {"predict", "predict time and memory of a full-scale training step by a dry run",
     "npubench predict --device ascend_910b3 --depth 20 --cards 8", add_predict_step, kPredict},
    {"doctor", "is this environment right, and why did that run fail? machine, files or logs",
     "npubench doctor train.sh", add_doctor},
    {"profile", "where did the step go? tables and verdicts of a profile of an NPU or a GPU",
     "npubench profile rank0_ascend_pt", add_profile},
    {"smi", "show the emulated Ascend server and what runs on it, as npu-smi does",
     "npubench smi --device ascend_910b3", add_smi},
    {"data", "list, verify and download the data files", "npubench data list", add_data},
    {"runs", "folders of runs: list them, their metrics and history; clean up",
     "npubench runs list --results-dir results/nights", add_runs_list, kRuns},
    {"list", "list devices, stacks, models, suites, tasks, conversations, faults, …",
     "npubench list devices", add_list},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace nb::cli
