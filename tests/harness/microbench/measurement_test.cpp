#include "harness/microbench/measurement.hpp"

#include <gtest/gtest.h>

#include "harness/microbench/copy_loop.hpp"
#include "harness/microbench/measurement_table.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/suite/microbenchmarks.hpp"

namespace nb {
namespace {

// The layout of Google Benchmark 1.7.1 (docs/user_guide.md, "JSON format"), with user counters.
std::string document(const std::string& entry) {
  return R"({"context": {"library_build_type": "release"}, "benchmarks": [)" + entry + "]}";
}
const std::string kHost =
    R"({"name": "host/matmul/d4/attn/min_time:0.020/real_time", "run_type": "iteration",
  "iterations": 22, "real_time": 1.5e3, "cpu_time": 1.4e3, "time_unit": "ns",
  "time_ns": 1500.5, "rate_gflop_s": 2.5, "share_of_peak": 0.75})";
const std::string kSimulated = R"({"name": "sim/step/d2/iterations:1/manual_time", "iterations": 1,
  "real_time": 7.0, "time_unit": "ns", "time_ns": 1.877e7, "peak_memory_bytes": 98416128})";

TEST(Measurement, SplitsClockNameAndValues) {
  const auto result = parse_measurements(document(kHost + "," + kSimulated), "a.json");
  ASSERT_TRUE(result.has_value()) << result.error().message;
  ASSERT_EQ(result->size(), 2u);
  const Measurement& host = result->front();
  EXPECT_FALSE(host.is_simulated);
  EXPECT_EQ(host.name, "matmul/d4/attn");
  EXPECT_EQ(host.repetitions, 22);
  EXPECT_EQ(host.values, (std::map<std::string, double>{
                             {"time_ns", 1500.5}, {"rate_gflop_s", 2.5}, {"share_of_peak", 0.75}}));
  EXPECT_TRUE(result->back().is_simulated);
  EXPECT_EQ(result->back().name, "step/d2");
  EXPECT_EQ(result->back().values.at("peak_memory_bytes"), 98416128.0);
}

TEST(Measurement, AReasonIsNoFailure) {
  const auto result = parse_measurements(
      document(R"({"name": "sim/all_reduce/1MiB/iterations:1/manual_time", "iterations": 0,
                   "error_occurred": true, "error_message": "unmeasured: one card has no all-reduce"})"),
      "a.json");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->front().unmeasured, "one card has no all-reduce");
  EXPECT_TRUE(result->front().values.empty());
}

TEST(Measurement, AWrongResultIsAFailureThatNamesTheBenchmark) {
  const auto result = parse_measurements(
      document(R"({"name": "host/matmul/d2/attn/min_time:0.020/real_time", "error_occurred": true,
                   "error_message": "the product differs from its naive definition"})"),
      "a.json");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kRun);
  EXPECT_NE(result.error().message.find("host/matmul/d2/attn: the product differs"),
            std::string::npos);
}

TEST(Measurement, WhatIsNotABenchmarkIsRefused) {
  EXPECT_FALSE(parse_measurements("{", "a.json").has_value());
  EXPECT_FALSE(parse_measurements("[]", "a.json").has_value());
  EXPECT_FALSE(
      parse_measurements(document(R"({"name": "matmul", "time_ns": 1})"), "a.json").has_value());
  EXPECT_FALSE(parse_measurements(document(R"({"name": "sim/matmul"})"), "a.json").has_value());
}

TEST(MeasurementTable, HasTheColumnsThatAreMeasuredAndTheGeometricMeanOfShares) {
  const auto text = measurement_text(
      {{.name = "a", .values = {{"time_ns", 1500}, {"share_of_peak", 0.5}}, .unmeasured = ""},
       {.name = "b", .values = {{"time_ns", 2e6}, {"share_of_peak", 0.72}}, .unmeasured = ""},
       {.is_simulated = true, .name = "b", .values = {{"time_ns", 7}}, .unmeasured = ""},
       {.name = "c", .values = {}, .unmeasured = "one card"}});
  EXPECT_NE(text.find("1.50 µs"), std::string::npos) << text;
  EXPECT_NE(text.find("0.600"), std::string::npos) << text;  // sqrt(0.5 · 0.72)
  EXPECT_NE(text.find("one card"), std::string::npos) << text;
  EXPECT_EQ(text.find("GB/s"), std::string::npos) << text;
}

TEST(CopyLoop, CopiesAboutTheBytesAskedFor) {
  CopyLoop copy(1e6);
  copy.run();
  EXPECT_NEAR(copy.bytes(), 1e6, 8);
}

MicrobenchRequest request(const std::string& group, const std::string& profile) {
  MicrobenchRequest result;
  result.group = group;
  result.device.name = result.device.profile = profile;
  result.min_time_s = 1e-4;
  result.threads = 1;
  return result;
}

TEST(Microbench, EveryGroupOfASuiteRunsAndVerifiesItself) {
  for (const MicrobenchmarkGroup& group : microbenchmark_groups()) {
    const auto result = run_microbench_child(request(std::string(group.name), "ascend_910b3"));
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_FALSE(result->empty());
    for (const Measurement& measurement : *result) {
      EXPECT_EQ(measurement.unmeasured, "") << measurement.name;
      EXPECT_TRUE(measurement.name.starts_with(group.name));
      for (const auto& [name, value] : measurement.values) {
        EXPECT_GT(value, 0.0) << measurement.name << " " << name;
        EXPECT_FALSE(value_kind(name).unit.empty());
      }
    }
  }
}

TEST(Microbench, TheSimulatedClockRepeatsExactly) {
  const auto first = run_microbench_child(request("all_reduce", "h100_sxm"));
  const auto second = run_microbench_child(request("all_reduce", "h100_sxm"));
  ASSERT_TRUE(first.has_value() && second.has_value());
  ASSERT_EQ(first->size(), second->size());
  for (std::size_t i = 0; i < first->size(); ++i)
    EXPECT_EQ((*first)[i].values, (*second)[i].values);
}

TEST(Microbench, EachEmulatedMachineRunsAllReduceOrSaysWhyNot) {
  for (const char* profile : {"cpu_ref", "tiny"}) {
    const auto result = run_microbench_child(request("all_reduce", profile));
    ASSERT_TRUE(result.has_value()) << result.error().message;
    for (const Measurement& measurement : *result)
      EXPECT_NE(measurement.unmeasured.empty(), measurement.values.empty()) << profile;
  }
}

TEST(Microbench, AnUnknownGroupDeviceOrPatternIsOneSentence) {
  const auto group = run_microbench_child(request("matmull", "ascend_910b3"));
  ASSERT_FALSE(group.has_value());
  EXPECT_NE(group.error().message.find("matmul\""), std::string::npos) << group.error().message;
  const auto device = run_microbench_child(request("matmul", "ascend_910b"));
  ASSERT_FALSE(device.has_value());
  EXPECT_NE(device.error().message.find("did you mean \"ascend_910a\""), std::string::npos)
      << device.error().message;
  MicrobenchRequest without = request("norm", "ascend_910b3");
  without.pattern_off = "cached_attentoin";
  const auto pattern = run_microbench_child(without);
  ASSERT_FALSE(pattern.has_value());
  EXPECT_NE(pattern.error().message.find("cached_attention"), std::string::npos)
      << pattern.error().message;
}

}  // namespace
}  // namespace nb
