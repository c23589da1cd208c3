// Flags of `npubench predict`: the trace, the fitting batch, sweeps, the allocator's options, jobs
// of Megatron's kind; and how each refuses what cannot be.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/text_width.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

using Words = std::vector<std::string>;

Words small_step(const Words& more) {
  Words words = {
      "predict", "--device",       "ascend_910b3", "--depth", "2", "--vocab-size",
      "512",     "--sequence-len", "64",           "--ranks", "1", "--total-batch-tokens",
      "1024"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(PredictFlags, TraceOpensInPerfetto) {
  const Bench bench;
  const fs::path file = bench.results() / "step.json";
  const auto result = bench(small_step({"--device-batch", "4", "--trace", file.string()}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto text = read_file(file);
  ASSERT_TRUE(text);
  const Json trace = Json::parse(*text);
  EXPECT_GT(trace.at("traceEvents").size(), 100U);
}

TEST(PredictFlags, PlotDrawsTheMemoryOfTheStep) {
  const Bench bench;
  const fs::path file = bench.results() / "memory.svg";
  const auto result = bench(small_step({"--device-batch", "4", "--plot", file.string()}));
  if (result.err.find("gnuplot-nox") != result.err.npos) GTEST_SKIP() << "skipped: no gnuplot";
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto svg = read_file(file);
  ASSERT_TRUE(svg);
  for (const char* part : {"parameters, ms of the step", "activations, ms of the step",
                           "<title>capacity</title>", "4 rows a micro-batch, simulated"})
    EXPECT_NE(svg->find(part), svg->npos) << part;
  const auto other = bench(small_step({"--plot", (bench.results() / "memory.png").string()}));
  EXPECT_EQ(other.exit_code, 64) << other.err;
  const auto megatron =
      bench({"predict", "--device", "ascend_910b3", "--model", "llama2-7b", "--plot", "m.svg"});
  EXPECT_EQ(megatron.exit_code, 64);
  EXPECT_NE(megatron.err.find("only a sweep is drawn"), megatron.err.npos) << megatron.err;
}

TEST(PredictFlags, FitBatchSaysTheMargin) {
  const Bench bench;
  const auto text = bench(small_step({"--fit-batch"}));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("largest batch that fits"), std::string::npos) << text.out;
  const Json json = Json::parse(bench(small_step({"--fit-batch", "--json"})).out);
  EXPECT_GT(json.at("largest_device_batch_size").get<int>(), 100);
  EXPECT_GE(json.at("margin").get<double>(), 0);
  EXPECT_GT(json.at("one_row_more_lacks").get<double>(), 0);
  const auto both = bench(small_step({"--fit-batch", "--device-batch", "4"}));
  EXPECT_EQ(both.exit_code, 64);
  EXPECT_NE(both.err.find("leave one out"), std::string::npos) << both.err;
}

// The help named it so, and "--device is required" answered.
TEST(PredictFlags, ASweepOverDevicesNeedsNoOther) {
  const auto table = Bench()({"predict", "sweep", "device=ascend_910b3,h100_sxm", "--depth", "4"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const char* device : {"ascend_910b3", "h100_sxm"})
    EXPECT_NE(table.out.find(device), std::string::npos) << table.out;
}

TEST(PredictFlags, SweepsAreTablesAndCsv) {
  Bench bench;
  bench.environment = {{"COLUMNS", "80"}};
  Words sweep = small_step({"--device-batch", "1"});
  sweep.insert(sweep.begin() + 1, {"sweep", "cards=1,2,4"});
  const auto table = bench(sweep);
  EXPECT_EQ(table.exit_code, 0) << table.err;
  std::istringstream lines(table.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(display_width(line), kTextWidth) << line;
  Words csv = sweep;
  csv.push_back("--csv");
  const auto parsed = parse_csv(bench(csv).out, "sweep");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->rows.size(), 3U);
  EXPECT_EQ(bench(small_step({"--sweep", "card=1,2"})).exit_code, 64);
  EXPECT_EQ(bench(small_step({"--csv"})).exit_code, 64);
}

TEST(PredictFlags, AllocConfIsReadAsTheFrameworksReadIt) {
  const Bench bench;
  const auto run =
      bench(small_step({"--device-batch", "4", "--json", "--alloc-conf", "max_split_size_mb:32"}));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Json::parse(run.out).at("alloc_conf"), "max_split_size_mb:32");
  const auto both =
      bench(small_step({"--alloc-conf", "max_split_size_mb:32,expandable_segments:True"}));
  EXPECT_EQ(both.exit_code, 64);
  EXPECT_NE(both.err.find("please set `expandable_segments` to `False`"), std::string::npos)
      << both.err;
  const auto noted = bench(
      small_step({"--device-batch", "4", "--alloc-conf", "garbage_collection_threshold:0.8"}));
  EXPECT_EQ(noted.exit_code, 0);
  EXPECT_NE(noted.err.find("per_process_memory_fraction"), std::string::npos) << noted.err;
}

TEST(PredictFlags, MegatronsModelsHaveAClosedForm) {
  const Bench bench;
  const Words job = {"predict", "--device", "ascend_910b3", "--model", "llama2-7b", "--ranks", "8"};
  Words cut = job;
  cut.insert(cut.end(), {"--tp", "8"});
  const auto text = bench(cut);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("tp 8, pp 1, dp 1"), std::string::npos) << text.out;
  const auto whole = bench(job);  // 18 bytes per parameter on each card
  EXPECT_EQ(whole.exit_code, 4) << whole.out;
  Words uneven = job;
  uneven.insert(uneven.end(), {"--tp", "3"});
  EXPECT_EQ(bench(uneven).exit_code, 64);
  Words unknown = job;
  unknown[4] = "lama2-7b";
  const auto refused = bench(unknown);
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_NE(refused.err.find("did you mean \"llama2-7b\"?"), std::string::npos) << refused.err;
}

// d32, 16 ranks, batch 2: of 32 micro-batches a few are simulated, and of 4,096 as many. All of
// them would take 128 times as long.
TEST(PredictFlags, AStepOfManyMicroBatchesIsAnsweredAsSoonAsOneOfFew) {
  const Bench bench;
  const auto seconds = [&](const char* tokens) {
    const auto start = std::chrono::steady_clock::now();
    const auto run = bench({"predict", "--device", "ascend_910c", "--ranks", "16", "--depth", "32",
                            "--device-batch", "2", "--total-batch-tokens", tokens});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double few = seconds("2097152");
  EXPECT_LT(seconds("268435456"), 30 * few);
}

}  // namespace
}  // namespace nb::test
