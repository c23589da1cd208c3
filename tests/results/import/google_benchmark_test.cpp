#include <gtest/gtest.h>

#include "results/compare/compare.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"
#include "tests/results/import/foreign_text.hpp"

namespace nb {
namespace {

using test::read_texts;
using Lines = std::vector<std::string>;

std::string google_benchmark(const std::string& rows) {
  return R"({"context": {"date": "2026-01-01T00:00:00+00:00", "host_name": "h", "executable":
    "./build/bench_matmul", "num_cpus": 2, "mhz_per_cpu": 2000, "cpu_scaling_enabled": false,
    "library_build_type": "release"}, "benchmarks": [)" +
         rows + "]}";
}

constexpr const char* kRow = R"({"name": "BM_x/8", "run_name": "BM_x/8", "run_type": "iteration",
  "repetitions": 2, "repetition_index": 0, "threads": 1, "iterations": 100, "real_time": 2.0,
  "cpu_time": 1.5, "time_unit": "us", "items_per_second": 5e5})";

TEST(GoogleBenchmark, TimesAreOnTheHostsClockAndRepetitionsAMean) {
  std::string second = kRow;
  second.replace(second.find("2.0"), 3, "4.0");
  const auto results =
      read_texts({{"b.json", google_benchmark(std::string(kRow) + "," + second + R"(,
    {"name": "BM_x/8_mean", "run_name": "BM_x/8", "run_type": "aggregate", "aggregate_name": "mean",
     "real_time": 99.0, "time_unit": "us"}, {"name": "BM_broken", "run_type": "iteration",
     "error_occurred": true, "error_message": "no file"})")}});
  ASSERT_TRUE(results) << results.error().message;
  const ForeignRun& run = results->runs.at(0);
  EXPECT_EQ(run.harness, "Google Benchmark");
  EXPECT_EQ(run.model, "bench_matmul");
  ASSERT_EQ(run.metrics.size(), 4u);
  EXPECT_EQ(run.metrics[0].name, "BM_x/8/time");
  EXPECT_EQ(run.metrics[0].value, 3000);
  EXPECT_EQ(run.metrics[0].unit, "ns");
  EXPECT_EQ(run.metrics[0].n, 2);
  EXPECT_EQ(run.metrics[0].direction, Direction::kLower);
  EXPECT_EQ(run.metrics[2].name, "BM_x/8/items_per_second");
  EXPECT_EQ(run.metrics[2].direction, Direction::kHigher);
  EXPECT_EQ(run.metrics[3].reason_if_null, "error: no file");
  for (const Metric& metric : run.metrics) EXPECT_EQ(metric.clock, Clock::kHost);
  const RunRecords records = records_of(*results);
  EXPECT_TRUE(records.records.at(0).record.metrics.empty());
  EXPECT_EQ(records.records[0].record.host_metrics.size(), 4u);
}

// Times have no intervals: comparing them once read a metric that is not there.
TEST(GoogleBenchmark, TwoFilesCompareWithoutADirection) {
  std::string slower = kRow;
  slower.replace(slower.find("2.0"), 3, "4.0");
  const auto a = read_texts({{"a.json", google_benchmark(kRow)}});
  const auto b = read_texts({{"b.json", google_benchmark(slower)}});
  ASSERT_TRUE(a && b);
  const RunRecords left = records_of(*a), right = records_of(*b);
  const Comparison c = compare_runs(left, right, PairAcross::kDevices);
  ASSERT_EQ(c.pairs.size(), 1U);
  EXPECT_EQ(c.pairs[0].metrics.at(0).difference, 2000);
  EXPECT_FALSE(c.pairs[0].metrics[0].interval95);
  EXPECT_EQ(c.pairs[0].metrics[0].shown, Shown::kNothing);
}

TEST(GoogleBenchmark, MeansAloneAreTaken) {
  const auto results = read_texts({{"b.json", google_benchmark(R"(
    {"name": "BM_x_mean", "run_name": "BM_x", "run_type": "aggregate", "aggregate_name": "mean",
     "repetitions": 5, "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ms"},
    {"name": "BM_x_stddev", "run_name": "BM_x", "run_type": "aggregate", "aggregate_name": "stddev",
     "repetitions": 5, "real_time": 0.1, "cpu_time": 0.1, "time_unit": "ms"})")}});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->runs.at(0).metrics.size(), 2u);
  EXPECT_EQ(results->runs[0].metrics[0].value, 1e6);
  EXPECT_EQ(results->runs[0].metrics[0].n, 5);
}

TEST(GoogleBenchmark, BadRowsAreNamedByTheirPlace) {
  std::string row = kRow;
  row.replace(row.find("\"us\""), 4, "\"weeks\"");
  EXPECT_EQ(read_texts({{"b.json", google_benchmark(row)}}).error().message,
            "b.json: /benchmarks/0/time_unit: \"weeks\" is none of ns, us, ms, s");
}

TEST(GoogleBenchmark, FilesOfOneProgramPairWhateverTheirNames) {
  std::string old = google_benchmark(kRow);
  old.replace(old.find("\"executable\""), 12, "\"other\"");
  const auto named = read_texts({{"a.json", google_benchmark(kRow)}});
  const auto unnamed = read_texts({{"b.json", old}});
  ASSERT_TRUE(named && unnamed);
  EXPECT_EQ(named->runs.at(0).model, "bench_matmul");
  EXPECT_EQ(unnamed->runs.at(0).model, "benchmarks");
  // Other times are another run, not the same one with other bits.
  std::string slower = google_benchmark(kRow);
  slower.replace(slower.find("2.0"), 3, "3.0");
  const auto again = read_texts({{"a.json", slower}});
  ASSERT_TRUE(again);
  EXPECT_NE(records_of(*named).records.at(0).record.node_key,
            records_of(*again).records.at(0).record.node_key);
}

}  // namespace
}  // namespace nb
