// Exit codes of gate and compare for results of other harnesses, as a user calls them: a table of
// small files, what is right, and what scripts get. README: 0 PASS, IMPROVED or can't tell, 1
// worse, 2 can't tell (--strict), 3 incomparable or nothing pairs, 4 a part is missing, 64 bad
// input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

// lm-evaluation-harness 0.4: results of one task.
struct LmEval {
  double value = 0, stderr_value = 0;  // 0: none is written
  std::string task = "gsm8k", metric = "acc";
  bool is_higher_better = true;
  int shots = 5;
  double version = 1;
  int n = 0;  // 0: not said
};
std::string lm_eval(const LmEval& of) {
  Json scores = {{"alias", of.task}, {of.metric + ",none", of.value}};
  if (of.stderr_value > 0) scores[of.metric + "_stderr,none"] = of.stderr_value;
  Json json = {{"results", {{of.task, scores}}},
               {"group_subtasks", {{of.task, Json::array()}}},
               {"configs", {{of.task, {{"task", of.task}, {"num_fewshot", of.shots}}}}},
               {"versions", {{of.task, of.version}}},
               {"n-shot", {{of.task, of.shots}}},
               {"higher_is_better", {{of.task, {{of.metric, of.is_higher_better}}}}},
               {"config", {{"model", "hf"}, {"model_args", "pretrained=org/m"}, {"batch_size", 8}}},
               {"git_hash", "a"},
               {"date", 1.0},
               {"model_name", "org/m"}};
  if (of.n > 0) json["n-samples"] = {{of.task, {{"original", of.n}, {"effective", of.n}}}};
  return json.dump(1);
}

// MMLU as lm-eval writes it: the group's row and 57 subjects of 246 questions.
std::string lm_eval_group(double value) {
  constexpr int kSubjects = 57, kEach = 246;
  const auto scores = [&](const std::string& alias, int n) {
    return Json{{"alias", alias},
                {"acc,none", value},
                {"acc_stderr,none", std::sqrt(value * (1 - value) / n)}};
  };
  Json json = Json::parse(lm_eval({.value = value, .task = "mmlu"}));
  Json names = Json::array();
  json["results"] = {{"mmlu", scores("mmlu", kSubjects * kEach)}};
  json["groups"] = json["results"];
  for (int i = 0; i < kSubjects; ++i) {
    const std::string name = fmt::format("mmlu_subject_{}", i);
    names.push_back(name);
    json["results"][name] = scores(" - " + name, kEach);
    json["n-samples"][name] = {{"original", kEach}, {"effective", kEach}};
    json["versions"][name] = 1.0;
    json["n-shot"][name] = 5;
  }
  json["group_subtasks"] = {{"mmlu", names}};
  return json.dump();
}

// The table that lm-eval prints; a row: filter, shots, metric, arrow, value, standard error.
std::string lm_eval_md(const std::vector<std::string>& rows) {
  std::string text =
      "hf (pretrained=org/m), gen_kwargs: (None), limit: None, num_fewshot: 5, batch_size: 8\n"
      "|Tasks|Version|Filter|n-shot|Metric|   |Value |   |Stderr|\n"
      "|-----|------:|------|-----:|------|---|-----:|---|-----:|\n";
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += (i == 0 ? "|gsm8k|      3|" : "|     |       |") + rows[i] + "|\n";
  return text;
}

// evalscope's report of one metric.
std::string evalscope(const std::string& metric, double score, int num) {
  const Json part = {{"name", "default"}, {"score", score}, {"num", num}};
  const Json all = {{"num", num}, {"score", score}, {"macro_score", score}};
  Json category = all, of_metric = all;
  category["name"] = {"default"};
  category["subsets"] = {part};
  of_metric["name"] = metric;
  of_metric["categories"] = {category};
  return Json{{"name", "m-7B@sums"},
              {"dataset_name", "sums"},
              {"model_name", "m-7B"},
              {"score", score},
              {"metrics", {of_metric}}}
      .dump(1);
}
// The second schema: a metric says which side is better.
std::string evalscope_wer(double score) {
  Json json = Json::parse(evalscope("wer", score, 500));
  json["schema_version"] = 2;
  Json& metric = json["metrics"][0];
  metric["identity"] = {{"name", "wer"}, {"aggregation", "mean"}, {"dimensions", Json::object()}};
  metric["semantics"] = {{"semantic_id", "quality.wer.ratio"},
                         {"metric_name", "WER"},
                         {"kind", "quality"},
                         {"direction", "lower_is_better"},
                         {"value_range", {{"min", 0.0}, {"max", nullptr}}}};
  metric.erase("name");
  return json.dump(1);
}

std::string opencompass(const std::string& value) {
  return "dataset,version,metric,mode,m-7b\nopenai_humaneval,8e312c,humaneval_pass@1,gen," + value +
         "\n";
}

// Items q0 … q199 that are right but for every k-th.
std::string items(int k, const std::string& prefix = "q") {
  std::string text = "item,outcome\n";
  for (int i = 0; i < 200; ++i) text += fmt::format("{}{},{}\n", prefix, i, i % k == 0 ? 0 : 1);
  return text;
}

// A training log of nanochat; the losses part by `slope` nat a step.
std::string nanochat_log(double slope) {
  std::string text =
      "Number of parameters: 135,266,304\nTotal number of training tokens: 20,971,520\n";
  for (int i = 0; i <= 40; ++i) {
    const double loss = 3 + 8 * std::exp(-i / 22.0) + slope * i + .01 * std::sin(37.0 * i);
    text += fmt::format(
        "step {:05}/00040 ({:.2f}%) | loss: {:.6f} | lrm: 1.00 | dt: 460.10ms | tok/sec: 1,139,500 "
        "| mfu: 46.20 | total time: {:.2f}m\n",
        i, 2.5 * i, loss, .0077 * i);
    if (i % 20 == 0) text += fmt::format("Step {:05} | Validation bpb: {:.6f}\n", i, loss / 3.2);
  }
  return text + "Minimum validation bpb: " + fmt::format("{:.4f}", (3 + slope * 40) / 3.2) + "\n";
}

std::string csv_curve(double slope) {
  std::string text = "step,train_loss\n";
  for (int i = 0; i <= 30; ++i)
    text += fmt::format("{},{:.4f}\n", 10 * i, 3 + 8 * std::exp(-i / 9.0) + slope * i);
  return text;
}

// lm-eval's samples: questions 0 … n - 1, right but for every k-th.
std::string lm_eval_samples(int n, int k) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    const std::string question = fmt::format("Q{}", i), answer = std::to_string(3 * i);
    const double mark = i % k == 0 ? 0 : 1;
    text += Json{{"doc_id", i},
                 {"doc", {{"question", question}, {"answer", answer}}},
                 {"target", answer},
                 {"arguments", {{"gen_args_0", {{"arg_0", question}, {"arg_1", Json::object()}}}}},
                 {"resps", {{mark > 0 ? answer : "x"}}},
                 {"filtered_resps", {mark > 0 ? answer : "x"}},
                 {"filter", "none"},
                 {"metrics", {"acc"}},
                 {"doc_hash", fmt::format("{:064x}", i)},
                 {"prompt_hash", fmt::format("{:064x}", 1000 + i)},
                 {"target_hash", fmt::format("{:064x}", 2000 + i)},
                 {"acc", mark}}
                .dump() +
            "\n";
  }
  return text;
}

struct Row {
  const char* what;
  std::string file;  // its name, on both sides: gpu/<file>, npu/<file>
  std::string gpu, npu;
  int gate = 0, compare = 0;
  std::vector<std::string> more = {};  // options of the gate
};

std::vector<Row> rows() {
  const std::string json = "results_2026-06-01T10-00-00.000000.json", md = "table.md";
  const std::string csv = "scores.csv", oc = "summary_20260601_101010.csv";
  const std::vector<std::string> strict = {"--strict"};
  const LmEval good = {.value = .78, .stderr_value = .0114};
  const LmEval bad = {.value = .40, .stderr_value = .0135};
  const auto perplexity = [](double value) {
    return lm_eval({.value = value,
                    .stderr_value = .067,
                    .task = "lambada_openai",
                    .metric = "perplexity",
                    .is_higher_better = false});
  };
  return {
      {"lm-eval totals, equal", json, lm_eval(good), lm_eval(good), 0, 0, strict},
      {"lm-eval totals, worse, error without n", json, lm_eval(good), lm_eval(bad), 1, 0},
      {"lm-eval totals, worse, n without error", json, lm_eval({.value = .78, .n = 1319}),
       lm_eval({.value = .40, .n = 1319}), 1, 0},
      {"lm-eval totals, better", json, lm_eval(bad), lm_eval(good), 0, 0, strict},
      {"lm-eval totals, a little less", json, lm_eval(good),
       lm_eval({.value = .779, .stderr_value = .0114}), 0, 0},
      {"lm-eval totals, a little less, --strict", json, lm_eval(good),
       lm_eval({.value = .779, .stderr_value = .0114}), 2, 0, strict},
      {"lm-eval perplexity, up", json, perplexity(3.4), perplexity(4.9), 1, 0},
      {"lm-eval perplexity, down", json, perplexity(4.9), perplexity(3.4), 0, 0},
      {"lm-eval, other shots", json, lm_eval(good),
       lm_eval({.value = .78, .stderr_value = .0114, .shots = 25}), 3, 3},
      {"lm-eval, other version of the task", json, lm_eval(good),
       lm_eval({.value = .78, .stderr_value = .0114, .version = 2}), 3, 3},
      {"lm-eval, other task", json, lm_eval(good),
       lm_eval({.value = .78, .stderr_value = .0114, .task = "hellaswag"}), 3, 3},
      {"lm-eval group, every subject 3 points less", json, lm_eval_group(.6471),
       lm_eval_group(.6173), 1, 0},
      {"lm-eval group, equal", json, lm_eval_group(.6471), lm_eval_group(.6471), 0, 0, strict},
      {"lm-eval Markdown, equal", md, lm_eval_md({"none|5|acc|↑  |0.7800|±  |0.0114"}),
       lm_eval_md({"none|5|acc|↑  |0.7800|±  |0.0114"}), 0, 0, strict},
      {"lm-eval Markdown, worse", md, lm_eval_md({"none|5|acc|↑  |0.7800|±  |0.0114"}),
       lm_eval_md({"none|5|acc|↑  |0.4000|±  |0.0135"}), 1, 0},
      {"lm-eval Markdown, second filter worse", md,
       lm_eval_md({"flexible-extract|5|exact_match|↑  |0.7847|±  |0.0113",
                   "strict-match|5|exact_match|↑  |0.7688|±  |0.0116"}),
       lm_eval_md({"flexible-extract|5|exact_match|↑  |0.7801|±  |0.0114",
                   "strict-match|5|exact_match|↑  |0.2017|±  |0.0111"}),
       1, 0},
      {"lm-eval Markdown, other shots", md, lm_eval_md({"none|25|acc|↑  |0.7800|±  |0.0114"}),
       lm_eval_md({"none|0|acc|↑  |0.7800|±  |0.0114"}), 3, 3},
      {"lm-eval Markdown, perplexity up", md,
       lm_eval_md({"none|0|perplexity|↓  |3.4045|±  |0.0672"}),
       lm_eval_md({"none|0|perplexity|↓  |4.9045|±  |0.0672"}), 1, 0},
      {"evalscope, equal", "sums.json", evalscope("mean_acc", .75, 400),
       evalscope("mean_acc", .75, 400), 0, 0, strict},
      {"evalscope, worse", "sums.json", evalscope("mean_acc", .75, 400),
       evalscope("mean_acc", .5625, 400), 1, 0},
      {"evalscope, 64 samples of 30 problems, one problem less", "sums.json",
       evalscope("mean_acc_pass@64", 28. / 30, 1920), evalscope("mean_acc_pass@64", 27. / 30, 1920),
       0, 0},
      {"evalscope word error rate, up", "speech.json", evalscope_wer(.05), evalscope_wer(.12), 1,
       0},
      {"evalscope word error rate, down", "speech.json", evalscope_wer(.12), evalscope_wer(.05), 0,
       0},
      {"opencompass, worse", oc, opencompass("65.85"), opencompass("40.24"), 1, 0},
      {"opencompass, one problem of 164 less", oc, opencompass("1.22"), opencompass("0.61"), 0, 0,
       strict},
      {"opencompass, equal", oc, opencompass("65.85"), opencompass("65.85"), 0, 0, strict},
      {"totals CSV, equal", csv, "task,accuracy,n\nHumanEval,31.71%,164\n",
       "task,accuracy,n\nHumanEval,31.71%,164\n", 0, 0, strict},
      {"totals CSV, a task of the baseline is gone", csv,
       "task,accuracy,n\nGSM8K,0.78,1319\nMMLU,0.5,14042\n", "task,accuracy,n\nGSM8K,0.78,1319\n",
       4, 0},
      {"totals CSV, a task is new", csv, "task,accuracy,n\nGSM8K,0.78,1319\n",
       "task,accuracy,n\nGSM8K,0.78,1319\nMMLU,0.5,14042\n", 0, 0, strict},
      {"totals CSV, worse, with n", csv, "task,accuracy,n\nGSM8K,0.78,1319\n",
       "task,accuracy,n\nGSM8K,0.40,1319\n", 1, 0},
      {"totals CSV, worse, with errors", csv, "task,accuracy,stderr\nGSM8K,0.78,0.0114\n",
       "task,accuracy,stderr\nGSM8K,0.40,0.0135\n", 1, 0},
      {"items CSV, equal", "toy.csv", items(4), items(4), 0, 0, strict},
      {"items CSV, worse", "toy.csv", items(20), items(4), 1, 0},
      {"items CSV, other items", "toy.csv", items(4, "a"), items(4, "b"), 3, 3},
      {"loss curve CSV, parts", "loss.csv", csv_curve(0), csv_curve(.03), 1, 0},
      {"loss curve CSV, equal", "loss.csv", csv_curve(0), csv_curve(0), 0, 0, strict},
      {"nanochat log, losses part", "train.log", nanochat_log(0), nanochat_log(.03), 1, 0},
      {"nanochat log, equal", "train.log", nanochat_log(0), nanochat_log(0), 0, 0, strict},
      {"half a file", json, lm_eval(good), lm_eval(good).substr(0, 200), 64, 64},
      {"an empty file", json, lm_eval(good), "", 64, 64},
      {"a picture", "x.png", "\x89PNG\r\n\x1a\n", "\x89PNG\r\n\x1a\n", 64, 64},
      {"a table without results", csv, "name,colour\na,red\n", "name,colour\na,red\n", 64, 64},
      {"a policy with a mistake",
       json,
       lm_eval(good),
       lm_eval(good),
       64,
       0,
       {"--policy", NB_SOURCE_DIR "/tests/e2e/shortest.json"}},
  };
}

void expect_codes(const Bench& bench, const std::string& what, const std::string& base,
                  const std::string& candidate, int gate, int compare,
                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"gate", base, candidate, "--no-history"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto judged = bench(arguments);
  EXPECT_EQ(judged.exit_code, gate) << what << "\n" << judged.out << judged.err;
  const auto compared = bench({"compare", base, candidate});
  EXPECT_EQ(compared.exit_code, compare) << what << "\n" << compared.out << compared.err;
}

TEST(ForeignCodes, AreThoseOfTheTable) {
  int number = 0;
  for (const Row& row : rows()) {
    const Bench bench;
    const fs::path base = bench.results() / "gpu" / row.file;
    const fs::path candidate = bench.results() / "npu" / row.file;
    ASSERT_TRUE(write_file(base, row.gpu));
    ASSERT_TRUE(write_file(candidate, row.npu));
    expect_codes(bench, fmt::format("row {}: {}", ++number, row.what), base.string(),
                 candidate.string(), row.gate, row.compare, row.more);
  }
  EXPECT_GE(number, 30);
}

// Two files a side: results, which count 60 questions, and their samples.
TEST(ForeignCodes, SamplesBesideResults) {
  const std::string stamp = "_2026-06-01T10-00-00.000000.json";
  const auto side = [&](const fs::path& folder, double value, const std::string& samples) {
    ASSERT_TRUE(write_file(folder / ("results" + stamp),
                           lm_eval({.value = value, .stderr_value = .06, .n = 60})));
    ASSERT_TRUE(write_file(folder / ("samples_gsm8k" + stamp + "l"), samples));
  };
  struct Pair {
    const char* what;
    double value;  // of the second side's results; the first has .8
    std::string samples;
    int gate, compare;
  };
  const Pair pairs[] = {{"the same answers", .8, lm_eval_samples(60, 5), 0, 0},
                        {"18 more are wrong", .5, lm_eval_samples(60, 2), 1, 0},
                        {"ten of sixty samples are there", .8, lm_eval_samples(10, 5), 3, 3}};
  for (const Pair& pair : pairs) {
    const Bench bench;
    side(bench.results() / "gpu", .8, lm_eval_samples(60, 5));
    side(bench.results() / "npu", pair.value, pair.samples);
    expect_codes(bench, pair.what, (bench.results() / "gpu").string(),
                 (bench.results() / "npu").string(), pair.gate, pair.compare);
  }
}

TEST(ForeignCodes, OwnRunsBesideOthersFiles) {
  const Bench bench, again;
  ASSERT_EQ(bench.run("tests/e2e/shortest.json").exit_code, 0);
  ASSERT_EQ(again.run("tests/e2e/shortest.json").exit_code, 0);
  const std::string own = bench.suite_folder("shortest").string();
  const fs::path other = bench.results() / "results.json";
  ASSERT_TRUE(write_file(other, lm_eval({.value = .78, .stderr_value = .0114})));
  expect_codes(bench, "the same suite twice", own, again.suite_folder("shortest").string(), 0, 0,
               {"--strict"});
  expect_codes(bench, "the same file twice", other.string(), other.string(), 64, 0);
  expect_codes(bench, "a file that is not there", other.string(), other.string() + "x", 64, 64);
  expect_codes(bench, "a folder without results", other.string(), bench.results().string() + "/no",
               64, 64);
}

}  // namespace
}  // namespace nb::test
