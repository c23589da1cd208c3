// Serving benchmarks: `vllm bench serve` and `evalscope perf`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(texts_of(results->ignored),
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

TEST(EvalscopePerf, TheTableIsFoundWhereverItStandsInALog) {
  std::string log;
  for (int line = 0; line < 4000; ++line) log += "2026-06-01 INFO request answered in time\n";
  const auto results = read_texts({{"perf.log", "\"model\": \"org/m\"\n" + log +
                                                    "Benchmarking summary:\n| Concurrency | 8 |\n"
                                                    "| Avg Latency (s) | 0.3 |\n" +
                                                    log}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->runs.at(0).model, "org/m");
  EXPECT_EQ(metric_lines(results->runs[0]), Lines{"Avg Latency (s) 0.3 s lower"});
}

// By hand from the source's calculator: cells with their units, a stage of its own for the time in
// which the load was full.
constexpr const char* kAisRequests =
    "Performance Parameters,Stage,Average,Min,Max,Median,P75,P90,P99,N\r\n"
    "E2EL,total,2754.0929 ms,2189.0804 ms,3366.1463 ms,2753.1668 ms,3048.2929 ms,3222.573 ms,"
    "3303.3894 ms,7\r\n"
    "TTFT,total,200.5 ms,150.25 ms,300.0 ms,199.0 ms,210.0 ms,250.0 ms,299.5 ms,7\r\n"
    "InputTokens,total,1512.5,1481.0,1566.0,1511.5,1520.25,1536.6,1563.06,7\r\n"
    "OutputTokenThroughput,total,41.6254 token/s,41.6085 token/s,41.6398 token/s,41.6261 token/s,"
    "nan token/s,,41.6395 token/s,7\r\n";
constexpr const char* kAisLoad = R"({
    "Benchmark Duration": {"total": "38039.9928 ms"}, "Total Requests": {"total": 8},
    "Failed Requests": {"total": 1}, "Success Requests": {"total": 7},
    "Concurrency": {"total": 3.75}, "Max Concurrency": {"total": 4},
    "Request Throughput": {"total": "0.184 req/s"}, "Total Input Tokens": {"total": 12100},
    "Total Generated Tokens": {"total": 4096},
    "Output Token Throughput": {"total": "107.67 token/s"}})";

TEST(AisBenchPerformance, TheLoadAndItsRequestsAreOneRun) {
  const std::string folder = "20260601_101010/performances/vllm-api/";
  const auto results =
      read_texts({{folder + "gsm8k.csv", kAisRequests}, {folder + "gsm8k.json", kAisLoad}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.harness, "AISBench performance");
  EXPECT_EQ(run.model, "vllm-api");
  EXPECT_EQ(run.stage, "gsm8k, concurrency 4, requests 8");
  EXPECT_EQ(run.files.size(), 2u);
  const Lines lines = metric_lines(run);
  for (const char* line :
       {"E2EL Average 2754.09 ms lower", "E2EL P99 3303.39 ms lower", "E2EL N 7 1 none",
        "TTFT Median 199 ms lower", "InputTokens P75 1520.25 1 none",
        "OutputTokenThroughput Max 41.6398 tok/s higher", "Benchmark Duration 38040 ms none",
        "Concurrency 3.75 1 none", "Failed Requests 1 1 none",
        "Request Throughput 0.184 1/s higher", "Output Token Throughput 107.67 tok/s higher",
        "Total Generated Tokens 4096 1 none"})
    EXPECT_EQ(std::count(lines.begin(), lines.end(), line), 1) << line;
  EXPECT_EQ(lines.size(), 38u);  // 4 rows of 8, less two cells without a value; 8 of the load
  EXPECT_EQ(texts_of(run.notes), Lines{folder + "gsm8k.json: 1 requests failed"});
}

// As it stands at the end of a log: tabulate's fancy grid below the line with the task.
constexpr const char* kAisPrinted =
    "[2026-06-01 10:19:48,085] [ais_bench] [INFO] Performance Results of task "
    "[vllm-api/gsm8k]: \n"
    "╒════════════════════════╤═════════╤════════════════╤═════════════════╤═════╕\n"
    "│ Performance Parameters │ Stage   │ Average        │ P99             │  N  │\n"
    "╞════════════════════════╪═════════╪════════════════╪═════════════════╪═════╡\n"
    "│ E2EL                   │ total   │ 2754.0929  ms  │ 3303.3894 ms    │  7  │\n"
    "├────────────────────────┼─────────┼────────────────┼─────────────────┼─────┤\n"
    "│ InputTokens            │total    │ 1512.5         │ 50 .05 ms       │  7  │\n"
    "╘════════════════════════╧═════════╧════════════════╧═════════════════╧═════╛\n"
    "╒══════════════════════════╤═════════╤══════════════════╕\n"
    "│ Common Metric            │ Stage   │ Value            │\n"
    "╞══════════════════════════╪═════════╪══════════════════╡\n"
    "│ Benchmark Duration       │ total   │ 38039.9928 ms    │\n"
    "│ Total Requests           │ total   │ 8                │\n"
    "│ Failed Requests          │ total   │ 1                │\n"
    "│ Max Concurrency          │ total   │ 4                │\n"
    "│ Request Throughput       │ total   │ 0.184 req/s      │\n"
    "╘══════════════════════════╧═════════╧══════════════════╛\n"
    "[2026-06-01 10:19:48,091] [ais_bench] [INFO] Performance Result files located in o.\n";

TEST(AisBenchPerformance, ThePrintedTablesAreReadAsTheFilesAre) {
  const auto results = read_texts({{"perf.log", kAisPrinted}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  const ForeignRun& run = results->runs[0];
  EXPECT_EQ(run.harness, "AISBench performance");
  EXPECT_EQ(run.model, "vllm-api");
  EXPECT_EQ(run.stage, "gsm8k, concurrency 4, requests 8");
  EXPECT_EQ(metric_lines(run),
            (Lines{"Benchmark Duration 38040 ms none", "Failed Requests 1 1 none",
                   "Request Throughput 0.184 1/s higher", "E2EL Average 2754.09 ms lower",
                   "E2EL P99 3303.39 ms lower", "E2EL N 7 1 none",
                   "InputTokens Average 1512.5 1 none", "InputTokens N 7 1 none"}));
  EXPECT_EQ(texts_of(run.notes), Lines{"perf.log: 1 requests failed"});
  // A cell that no reader understands is said, not guessed.
  EXPECT_EQ(texts_of(results->ignored),
            Lines{"perf.log:7: InputTokens P99, 50 .05 ms, is no number of its own"});
}

// The log lies beside the files that hold the same.
TEST(AisBenchPerformance, ALogAndItsFilesAreOneMeasurement) {
  const std::string folder = "o/performances/vllm-api/";
  const auto results = read_texts({{"o/logs/perf.log", kAisPrinted},
                                   {folder + "gsm8k.csv", kAisRequests},
                                   {folder + "gsm8k.json", kAisLoad}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 1u);
  EXPECT_EQ(results->runs[0].metrics.size(), 38u);
  for (const Metric& metric : results->runs[0].metrics) EXPECT_EQ(metric.n, 1) << metric.name;
}

// Pasted without the log's lines, one load after the other; far down a log.
TEST(AisBenchPerformance, PastedTablesHaveNoModel) {
  std::string log;
  for (int line = 0; line < 4000; ++line) log += "2026-06-01 INFO request answered in time\n";
  const std::string tables = std::string(kAisPrinted).substr(std::string(kAisPrinted).find("╒"));
  std::string second = tables;
  second.replace(second.find("│ 4  "), 5 + 2, "│ 16 ");
  const auto results = read_texts({{"pasted.txt", log + tables + second + log}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.size(), 2u);
  EXPECT_EQ(results->runs[0].model, "");
  EXPECT_EQ(results->runs[0].stage, "concurrency 16, requests 8");
  EXPECT_EQ(results->runs[1].stage, "concurrency 4, requests 8");
}

TEST(AisBenchPerformance, StagesAreLoadsOfTheirOwn) {
  const auto results = read_texts({{"m/gsm8k.json", R"({"Benchmark Duration": {"stable": "5.0 ms"},
        "Total Requests": {"stable": 6}, "Request Throughput": {"stable": "2.0 req/s"}})"}});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->runs.at(0).stage, "gsm8k, stable stage, requests 6");
}

TEST(AisBenchPerformance, CellsThatAreNoQuantitiesAreNamed) {
  std::string requests = kAisRequests, load = kAisLoad;
  requests.replace(requests.find("150.25 ms"), 9, "150.25 xs");
  load.replace(load.find("0.184 req/s"), 11, "fast");
  const auto error = [](const std::string& file, const std::string& text) {
    const auto results = read_texts({{file, text}}, file);
    return results ? "" : results.error().message;
  };
  const std::string rest =
      " is no quantity; a number with ms, token/s, req/s or no unit is expected";
  EXPECT_EQ(error("g.csv", requests), "g.csv:3: TTFT Min: \"150.25 xs\"" + rest);
  EXPECT_EQ(error("g.json", load), "g.json: /Request Throughput/total: \"fast\"" + rest);
  EXPECT_EQ(
      error("g.json", R"({"Benchmark Duration": 1, "Request Throughput": {}})"),
      "g.json: /Benchmark Duration: values by stage are expected: {\"total\": \"0.5 req/s\"}");
}

}  // namespace
}  // namespace nb
