// Serving benchmarks: `vllm bench serve` and `evalscope perf`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "results/import/formats.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using Lines = std::vector<std::string>;

// "name value unit better" of each.
Lines metric_lines(const ForeignRun& run) {
  constexpr const char* kBetter[] = {"lower", "higher", "none"};
  Lines lines;
  for (const Metric& one : run.metrics) {
    EXPECT_EQ(one.clock, Clock::kDevice);
    const char* better = one.direction == Direction::kHigher  ? kBetter[1]
                         : one.direction == Direction::kLower ? kBetter[0]
                                                              : kBetter[2];
    lines.push_back(fmt::format("{} {:g} {} {}{}", one.name, one.value.value_or(-1), one.unit,
                                better, one.n == 1 ? "" : fmt::format(" of {}", one.n)));
  }
  return lines;
}

std::string serve(const std::string& ttft, const std::string& more = "") {
  return fmt::format(R"({{"date": "20260601-101010", "endpoint_type": "vllm", "label": null,
      "model_id": "org/m", "tokenizer_id": "org/m", "num_prompts": 200, "request_rate": "inf",
      "burstiness": 1.0, "max_concurrency": 64, "duration": 12.5, "completed": 200, "failed": 0,
      "total_input_tokens": 204800, "total_output_tokens": 25600, "request_throughput": 16.0,
      "request_goodput": null, "output_throughput": 2048.0, "total_token_throughput": 18432.0,
      "input_lens": [1024, 1024], "ttfts": [0.1, 0.2], "errors": ["", ""],
      "mean_ttft_ms": {}, "std_ttft_ms": 3.5, "p99_ttft_ms": 150.0{}}})",
                     ttft, more);
}

std::string one_line(std::string text) {
  std::erase(text, '\n');
  return text;
}

TEST(VllmServe, RatesAndLatenciesHaveTheirDirections) {
  const auto results = read_texts({{"serve.json", serve("100.0")}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.model, "org/m");
  EXPECT_EQ(run.stage, "rate inf, concurrency 64, prompts 200");
  EXPECT_EQ(metric_lines(run),
            (Lines{"completed 200 1 none", "duration 12.5 s none", "failed 0 1 none",
                   "mean_ttft_ms 100 ms lower", "output_throughput 2048 tok/s higher",
                   "p99_ttft_ms 150 ms lower", "request_throughput 16 1/s higher",
                   "std_ttft_ms 3.5 ms none", "total_output_tokens 25600 1 none",
                   "total_token_throughput 18432 tok/s higher"}));
  EXPECT_EQ(run.provenance.at("burstiness"), "1.0");
  EXPECT_EQ(run.provenance.at("total_input_tokens"), "204800");
}

TEST(VllmServe, LoadsAreKeptApartAndRepetitionsHaveTheirMean) {
  std::string slower = serve("300.0");
  slower.replace(slower.find("\"inf\""), 5, "4.0");
  const auto results =
      read_texts({{"all.json", one_line(serve("100.0")) + "\n" + one_line(serve("104.0")) + "\n"},
                  {"slower.json", slower}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2u);
  EXPECT_EQ(results->runs[0].stage, "rate 4.0, concurrency 64, prompts 200");
  EXPECT_EQ(metric_lines(results->runs[1]).at(3), "mean_ttft_ms 102 ms lower of 2");
}

TEST(VllmServe, DamagedFilesAreNamed) {
  const std::string whole = serve("1");
  const auto error = [](const std::string& text) {
    const auto results = read_texts({{"s.json", text}}, "s.json");
    return results ? "" : results.error().message;
  };
  EXPECT_TRUE(error(whole.substr(0, whole.size() - 20)).starts_with("s.json: byte "));
  std::string nameless = whole;
  nameless.replace(nameless.find("\"org/m\""), 7, "\"\"");
  EXPECT_EQ(error(nameless), "s.json: /model_id is missing");
}

constexpr const char* kNow = R"x({"Test Duration (s)": 4.0, "Concurrency": 8,
    "Request Rate (req/s)": -1.0, "Total Requests": 100, "Success Requests": 99,
    "Failed Requests": 1, "Req Throughput (req/s)": 24.75, "Avg Latency (s)": 0.3,
    "Output Throughput (tok/s)": 800.0, "Avg TTFT (ms)": 42.0, "Avg Input Tokens": 512.0,
    "Novelty": 3})x";

TEST(EvalscopePerf, SummaryAndPercentilesOfOneLoadAreOneRun) {
  const std::string folder = "o/m/parallel_8_number_100/benchmark_";
  const auto results = read_texts(
      {{folder + "summary.json", kNow},
       {folder + "percentile.json",
        R"x([{"Percentiles": "50%", "TTFT (ms)": 40.0, "Latency (s)": 0.28, "Output (tok/s)": 90.0},
            {"Percentiles": "99%", "TTFT (ms)": 75.0, "Latency (s)": 0.5}])x"},
       {folder + "args.json", R"({"model": "org/m", "dataset": "random", "max_tokens": 128})"}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.harness, "evalscope perf");
  EXPECT_EQ(run.model, "org/m");
  EXPECT_EQ(run.stage, "concurrency 8, requests 100");
  Lines lines = metric_lines(run);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (Lines{"50% Latency (s) 0.28 s lower", "50% Output (tok/s) 90 tok/s higher",
                          "50% TTFT (ms) 40 ms lower", "99% Latency (s) 0.5 s lower",
                          "99% TTFT (ms) 75 ms lower", "Avg Input Tokens 512 1 none",
                          "Avg Latency (s) 0.3 s lower", "Avg TTFT (ms) 42 ms lower",
                          "Failed Requests 1 1 none", "Output Throughput (tok/s) 800 tok/s higher",
                          "Req Throughput (req/s) 24.75 1/s higher", "Success Requests 99 1 none",
                          "Test Duration (s) 4 s none"}));
  EXPECT_EQ(run.provenance.at("max_tokens"), "128");
  EXPECT_EQ(results->ignored,
            Lines{"o/m/parallel_8_number_100/benchmark_summary.json: Novelty is not known"});
}

TEST(EvalscopePerf, TheTableOfTheLogSaysTheSame) {
  const std::string now = R"x(2026-06-01 INFO: {
    "model": "org/m",
    "parallel": 8
2026-06-01 INFO:
Benchmarking summary:
┌─────────────────────────────┬───────────────┐
│ Metric                      │         Value │
├─────────────────────────────┼───────────────┤
│ ── General ──               │               │
│ Concurrency                 │             8 │
│ Total / Success / Failed    │  100 / 99 / 1 │
│ Req Throughput (req/s)      │         24.75 │
│ Avg Latency (s)             │           0.3 │
└─────────────────────────────┴───────────────┘
)x";
  const std::string before = R"x(Benchmarking summary:
+-----------------------------------+-----------+
| Key                               | Value     |
+===================================+===========+
| Number of concurrency             | 1         |
| Average latency (s)               | 2.5       |
)x";
  const auto results = read_texts({{"benchmark.log", now}, {"old.log", before}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2u);
  EXPECT_EQ(results->runs[0].stage, "concurrency 1");
  EXPECT_EQ(metric_lines(results->runs[0]), Lines{"Average latency (s) 2.5 s lower"});
  EXPECT_EQ(results->runs[1].model, "org/m");
  EXPECT_EQ(results->runs[1].stage, "concurrency 8, requests 100");
  EXPECT_EQ(metric_lines(results->runs[1]),
            (Lines{"Avg Latency (s) 0.3 s lower", "Failed Requests 1 1 none",
                   "Req Throughput (req/s) 24.75 1/s higher", "Success Requests 99 1 none"}));
}

}  // namespace
}  // namespace nb
