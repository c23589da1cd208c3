// What lies in a results folder, seen and cared for from the shell: runs list, runs metrics,
// history, runs reindex, runs gc.
#include "results/store/store.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "results/store/index.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

// Ten nights of a suite with two devices, written as a runner would; the last three are worse.
class Store : public ::testing::Test {
 protected:
  static constexpr int kNights = 10;
  void SetUp() override {
    for (int i = 0; i < kNights; ++i)
      for (const char* device : {"h100_sxm", "ascend_910b3"}) add(night(i), device, i);
  }
  static std::string night(int i) { return "2026-11-" + std::to_string(10 + i) + "/smoke"; }
  void add(const std::string& run, const std::string& device, int i) const {
    Record record;
    record.kind = "train";
    record.name = "base";
    record.device = device;
    record.seed = 1;
    record.node_key = std::string(64, device.front() == 'h' ? 'a' : 'b');
    record.environment = Json{{"finished_at", "2026-11-" + std::to_string(10 + i) + "T03:00:00Z"}};
    Metric metric;
    metric.name = "val_bpb";
    metric.value = (i < 7 ? 1 : 1.5) + .001 * ((i * 7) % 4);
    metric.unit = "bit/byte";
    metric.direction = Direction::kLower;
    record.metrics = {metric};
    ASSERT_TRUE(write_record(
        bench_.results() / run / ("base." + device + "-" + record.node_key.substr(0, 8)), record));
  }
  SubprocessResult call(std::vector<std::string> words) const {
    words.insert(words.end(), {"--results-dir", bench_.results().string()});
    return bench_(words);
  }
  SubprocessResult data(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"data", command, bench_.results().string()};
    words.insert(words.end(), more.begin(), more.end());
    return bench_(words);
  }
  static Json parsed(const SubprocessResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json json = Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(json.is_discarded()) << result.out;
    return json;
  }
  static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  Bench bench_;
};

TEST_F(Store, ListRunsHasTheNewestFirstAndSaysWhatItLeavesOut) {
  const auto all = call({"runs", "list"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_LT(all.out.find(night(9)), all.out.find(night(0))) << all.out;
  EXPECT_TRUE(says(all.out, "ascend_910b3, h100_sxm")) << all.out;
  EXPECT_FALSE(says(all.out, "--limit")) << all.out;
  const auto two = call({"runs", "list", "--limit", "2"});
  EXPECT_FALSE(says(two.out, night(0))) << two.out;
  EXPECT_TRUE(says(two.out, "the newest 2 of 10 runs; --limit 0 lists all")) << two.out;
  const Json json = parsed(call({"runs", "list", "--json"}));
  EXPECT_EQ(json.at("schema"), "npubench.runs/1");
  ASSERT_EQ(json.at("runs").size(), 10U);
  EXPECT_EQ(json.at("runs").at(0).at("run"), night(9));
  EXPECT_EQ(json.at("runs").at(0).at("records"), 2);
  EXPECT_EQ(parsed(call({"runs", "list", "--json", "--limit", "3"})).at("total"), 10);
}

TEST_F(Store, ALongListIsCutAtFiftyAndSaysSo) {
  for (int i = 0; i < 41; ++i) add("more/" + std::to_string(100 + i), "h100_sxm", 0);
  const auto list = call({"runs", "list"});
  EXPECT_TRUE(says(list.out, "the newest 50 of 51 runs; --limit 0 lists all")) << list.out;
  EXPECT_EQ(parsed(call({"runs", "list", "--json"})).at("runs").size(), 51U);
  EXPECT_FALSE(says(call({"runs", "list", "--limit", "0"}).out, "--limit"));
}

TEST_F(Store, ListRunsNamesWhatIsDamaged) {
  const fs::path record = bench_.results() / night(4) / "base.h100_sxm-aaaaaaaa" / "record.json";
  ASSERT_TRUE(write_file(record, "{\"half"));
  const auto result = call({"runs", "list"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(says(result.out, "1 damaged")) << result.out;
  EXPECT_TRUE(says(result.out, "! " + record.string())) << result.out;
  for (const auto& of : {call({"history", "val_bpb"}), call({"runs", "metrics"})}) {
    EXPECT_EQ(of.exit_code, 0) << of.err;
    EXPECT_TRUE(says(of.err, "1 record cannot be read (npubench runs list says why)")) << of.err;
  }
}

TEST_F(Store, ListMetricsOfAllOfOneAndOfAFolder) {
  const Json all = parsed(call({"runs", "metrics", "--json"}));
  EXPECT_EQ(all.at("metrics").at(0).at("metric"), "val_bpb");
  EXPECT_EQ(all.at("metrics").at(0).at("runs"), 10);
  EXPECT_EQ(all.at("metrics").at(0).at("records"), 20);
  const Json one = parsed(call({"runs", "metrics", night(3), "--json"}));
  EXPECT_EQ(one.at("run"), night(3));
  EXPECT_EQ(one.at("metrics").at(0).at("records"), 2);
  const auto folder = bench_({"runs", "metrics", (bench_.results() / night(3)).string()});
  EXPECT_TRUE(says(folder.out, "val_bpb")) << folder.err;
  expect_sentence(call({"runs", "metrics", "2026-11-13/smok"}), 64,
                  {"no run \"2026-11-13/smok\"", "did you mean", night(3)});
}

TEST_F(Store, HistoryHasARowARunAndSaysTheChange) {
  const auto result = call({"history", "val_bpb", "--device", "h100_sxm"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(says(result.out, "the level changed at " + night(7) + ": 1.00")) << result.out;
  EXPECT_TRUE(says(result.out, "worse")) << result.out;
  EXPECT_FALSE(says(result.out, "ascend_910b3")) << result.out;
  const Json json = parsed(call({"history", "val_bpb", "--json"}));
  EXPECT_EQ(json.at("schema"), "npubench.history/1");
  ASSERT_EQ(json.at("groups").size(), 2U);
  EXPECT_EQ(json.at("groups").at(0).at("rows").size(), 10U);
  const auto csv = parse_csv(call({"history", "val_bpb", "--csv"}).out, "csv");
  ASSERT_TRUE(csv) << csv.error().message;
  EXPECT_EQ(csv->rows.size(), 20U);
}

TEST_F(Store, HistoryDrawsTheFileThatIsNamed) {
  const fs::path svg = bench_.results() / "h.svg", pdf = bench_.results() / "h.pdf";
  const auto first = call({"history", "val_bpb", "--plot", svg.string()});
  if (says(first.err, "is not installed")) GTEST_SKIP() << first.err;
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string drawn = read_file(svg).value();
  EXPECT_TRUE(says(drawn, "<title>val_bpb</title>"));
  EXPECT_TRUE(says(drawn, "train base on h100_sxm, seed 1 (smoke)"));
  EXPECT_FALSE(says(drawn, "<title>gnuplot_plot_"));
  EXPECT_FALSE(fs::exists(pdf));
  ASSERT_EQ(call({"history", "val_bpb", "--plot", pdf.string()}).exit_code, 0);
  EXPECT_EQ(read_file(pdf).value().rfind("%PDF", 0), 0U);
  expect_sentence(call({"history", "val_bpb", "--plot", "h.png"}), 64,
                  {"h.png: a plot is an .svg or a .pdf"});
}

TEST_F(Store, BadInputIsOneSentence) {
  expect_sentence(call({"history", "val_bbp"}), 64, {"no metric \"val_bbp\"", "\"val_bpb\""});
  expect_sentence(call({"history", "val_bpb", "--device", "h100"}), 64,
                  {"--device h100", "\"h100_sxm\""});
  expect_sentence(call({"history", "val_bpb", "--seed", "x"}), 64, {"--seed"});
  expect_sentence(call({"history", "val_bpb", "--clock", "sim"}), 64, {"there are none"});
  expect_sentence(call({"history"}), 64, {"METRIC"});
  expect_sentence(bench_({"runs", "list", "--results-dir", "/none/there"}), 64,
                  {"/none/there: does not exist; give a folder of runs"});
  expect_sentence(bench_({"history", "val_bpb", "--results-dir", "/none/there"}), 64,
                  {"does not exist"});
  expect_sentence(call({"runs", "list", "--limit", "-1"}), 64, {"--limit"});
  expect_sentence(bench_({"runs", "gc", "/none/there"}), 64, {"does not exist"});
  expect_sentence(data("gc", {"--keep-last", "0"}), 64, {"--keep-last", "0 is less than 1"});
  expect_sentence(data("reindex", {"--yes"}), 64, {"--yes"});
}

TEST_F(Store, ReindexMakesADamagedIndexAnew) {
  ASSERT_EQ(call({"runs", "list"}).exit_code, 0);
  const fs::path index = bench_.results() / kIndexFile;
  ASSERT_TRUE(write_file(index, "not an index"));
  const auto listed = call({"runs", "list"});
  EXPECT_TRUE(says(listed.err, "was damaged; it has been made anew")) << listed.err;
  const Json json = parsed(data("reindex", {"--json"}));
  EXPECT_EQ(json.at("runs"), 10);
  EXPECT_EQ(json.at("records"), 20);
  EXPECT_EQ(json.at("index"), index.string());
  const fs::path record = bench_.results() / night(4) / "base.h100_sxm-aaaaaaaa" / "record.json";
  ASSERT_TRUE(write_file(record, "{\"half"));
  const auto damaged = data("reindex");
  EXPECT_EQ(damaged.exit_code, 4);
  EXPECT_TRUE(says(damaged.out, "! " + record.string())) << damaged.out;
  bench_.environment = {{"NPUBENCH_FAIL_WRITE", "1"}};
  const auto full = data("reindex");
  EXPECT_EQ(full.exit_code, 4);
  EXPECT_TRUE(says(full.err, "No space left on device")) << full.err;
}

TEST_F(Store, GcShowsFirstAndRemovesOnlyWhatItIsTold) {
  ASSERT_TRUE(write_file(bench_.results() / night(0) / "golden.json", "{}"));
  ASSERT_TRUE(write_file(bench_.results() / night(1) / "base.h100_sxm-aaaaaaaa/record.json", "{"));
  const auto dry = data("gc", {"--keep-last", "3"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_TRUE(says(dry.out, "nothing was removed; --yes removes 5 folders")) << dry.out;
  EXPECT_TRUE(says(dry.out, "stays: " + night(0) + " has golden.json")) << dry.out;
  EXPECT_TRUE(says(dry.out, "stays: " + night(1) + " cannot be read: ")) << dry.out;
  EXPECT_TRUE(says(dry.out, "stay: 3 runs of the newest")) << dry.out;
  EXPECT_TRUE(fs::exists(bench_.results() / night(2)));
  const Json json = parsed(data("gc", {"--keep-last", "3", "--json"}));
  EXPECT_TRUE(json.at("dry").get<bool>());
  ASSERT_EQ(json.at("goes").size(), 5U);
  EXPECT_EQ(json.at("goes").at(0).at("folder"), "2026-11-12");
  const auto removed = data("gc", {"--keep-last", "3", "--yes"});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_TRUE(says(removed.out, "5 folders removed")) << removed.out;
  EXPECT_FALSE(fs::exists(bench_.results() / "2026-11-12"));
  EXPECT_FALSE(fs::exists(bench_.results() / ".removed"));
  EXPECT_EQ(parsed(call({"runs", "list", "--json"})).at("total"), 5);
  EXPECT_TRUE(says(data("gc", {"--keep-last", "3", "--yes"}).out, "0 folders removed"));
}

}  // namespace
}  // namespace nb::test
