// The runner with stages of the test's own: what is run, reused, resumed, skipped and recorded.
#include "harness/run/runner.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "harness/run/node_state.hpp"
#include "results/store/store.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

Node node_of(Work work, const std::string& name, std::vector<std::size_t> parents) {
  Node node;
  node.work = std::move(work);
  node.label = node.name = name;
  node.key = sha256_hex(name);
  node.parents = std::move(parents);
  return node;
}

// corpus → tokenizer → shards, and one prediction that depends on nothing.
Plan small_plan() {
  Plan plan;
  plan.suite = "s";
  plan.nodes.push_back(node_of(DatasetWork{}, "corpus", {}));
  plan.nodes.push_back(node_of(TokenizerWork{}, "tokenizer", {0}));
  plan.nodes.push_back(node_of(ShardsWork{}, "shards", {0, 1}));
  plan.nodes.push_back(node_of(PredictWork{}, "predict", {}));
  return plan;
}

class RunnerTest : public ::testing::Test {
 protected:
  RunSummary run(bool fresh = false) {
    RunOptions options;
    options.results_dir = folder_.path();
    options.fresh = fresh;
    options.quiet = true;
    auto summary = run_plan(plan_, options, stage());
    EXPECT_TRUE(summary) << summary.error().message;
    return std::move(*summary);
  }

  // Writes one artifact with content_[node], counts calls, fails or throws where asked.
  StageFunction stage() {
    return [this](const StageContext& context, Record& record) -> Result<void> {
      const std::string& name = context.node.name;
      ++calls_[name];
      std::error_code error;
      found_partial_[name] = fs::exists(context.folder / "partial", error);
      NB_TRY_VOID(write_file(context.folder / "partial", "half"));
      if (throws_ == name) throw std::runtime_error("thrown on purpose");
      if (fails_ == name) return run_error("failed on purpose");
      NB_TRY_VOID(write_file(context.folder / "out.txt", content_[name]));
      record.artifacts["out.txt"] = "";
      Metric metric;
      metric.name = "answer";
      metric.value = 42;
      metric.unit = "1";
      record.metrics.push_back(metric);
      return {};
    };
  }

  fs::path folder_of(const std::string& name) {
    const Node& node = plan_.nodes[*plan_.find(name)];
    return node_folder(folder_.path(), plan_.suite, node.name, node.key);
  }

  test::TempDir folder_;
  Plan plan_ = small_plan();
  std::map<std::string, int> calls_;
  std::map<std::string, bool> found_partial_;
  std::map<std::string, std::string> content_;
  std::string fails_, throws_;
};

TEST_F(RunnerTest, ExecutesAllThenReusesAll) {
  EXPECT_EQ(counts_text(run()), "4 executed, 0 reused, 0 failed, 0 skipped");
  EXPECT_EQ(counts_text(run()), "0 executed, 4 reused, 0 failed, 0 skipped");
  EXPECT_EQ(calls_["tokenizer"], 1);
}

TEST_F(RunnerTest, FreshReusesNothing) {
  run();
  EXPECT_EQ(run(/*fresh=*/true).count(NodeOutcome::kExecuted), 4);
}

TEST_F(RunnerTest, FreshRunWithOtherResultsIsAnError) {
  run();
  content_["tokenizer"] = "other bits";
  const RunSummary summary = run(/*fresh=*/true);
  ASSERT_EQ(summary.count(NodeOutcome::kFailed), 1);
  EXPECT_EQ(summary.error(), ErrorCode::kRun);
  EXPECT_NE(summary.nodes[1].message.find("other results"), std::string::npos)
      << summary.nodes[1].message;
}

TEST_F(RunnerTest, FailureSkipsDependantsAndContinues) {
  fails_ = "tokenizer";
  const RunSummary summary = run();
  EXPECT_EQ(counts_text(summary), "2 executed, 0 reused, 1 failed, 1 skipped");
  EXPECT_EQ(summary.nodes[2].outcome, NodeOutcome::kSkipped);
  EXPECT_EQ(summary.nodes[2].message, "tokenizer did not succeed");
  const auto record = read_record(folder_of("tokenizer"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->status, "failed");
  EXPECT_EQ(record->error, "failed on purpose");
  EXPECT_FALSE(has_record(folder_of("shards")));
}

TEST_F(RunnerTest, ExceptionFailsItsNodeOnly) {
  throws_ = "corpus";
  const RunSummary summary = run();
  EXPECT_EQ(counts_text(summary), "1 executed, 0 reused, 1 failed, 2 skipped");
  EXPECT_NE(summary.nodes[0].message.find("thrown on purpose"), std::string::npos);
}

TEST_F(RunnerTest, FailedNodeRunsAgainAndFindsItsPartialWork) {
  fails_ = "tokenizer";
  run();
  fails_.clear();
  EXPECT_EQ(counts_text(run()), "2 executed, 2 reused, 0 failed, 0 skipped");
  EXPECT_TRUE(found_partial_["tokenizer"]);
  EXPECT_FALSE(found_partial_["shards"]);
}

TEST_F(RunnerTest, WorkOfAKilledRunIsFoundAndItsTemporariesAreNot) {
  const fs::path folder = folder_of("corpus");
  ASSERT_TRUE(begin_work(folder, NodeCondition::kAbsent));
  ASSERT_TRUE(write_file(folder / "partial", "half"));
  ASSERT_TRUE(write_file(folder / ".out.txt.123-0.tmp", "torn"));
  run();
  EXPECT_TRUE(found_partial_["corpus"]);
  EXPECT_FALSE(fs::exists(folder / ".out.txt.123-0.tmp"));
  EXPECT_FALSE(fs::exists(folder / "working"));
}

TEST_F(RunnerTest, DamagedArtifactRunsAgainFromTheStart) {
  run();
  ASSERT_TRUE(write_file(folder_of("tokenizer") / "out.txt", "altered"));
  EXPECT_EQ(counts_text(run()), "1 executed, 3 reused, 0 failed, 0 skipped");
  EXPECT_FALSE(found_partial_["tokenizer"]);
  EXPECT_EQ(*read_file(folder_of("tokenizer") / "out.txt"), "");
}

TEST_F(RunnerTest, MissingArtifactRunsAgain) {
  run();
  fs::remove(folder_of("shards") / "out.txt");
  EXPECT_EQ(run().count(NodeOutcome::kExecuted), 1);
}

TEST_F(RunnerTest, TornRecordRunsAgain) {
  run();
  const fs::path path = folder_of("corpus") / "record.json";
  const auto text = read_file(path);
  ASSERT_TRUE(write_file(path, text->substr(0, text->size() / 2)));
  EXPECT_EQ(run().count(NodeOutcome::kExecuted), 1);
}

// Halving val_bpb in a record was reused and gated.
TEST_F(RunnerTest, EditedRecordIsNotReused) {
  run();
  const fs::path path = folder_of("corpus") / "record.json";
  const Json good = *read_json(path);
  Json edited = good;
  edited["metrics"][0]["value"] = 21.0;
  ASSERT_TRUE(write_json(path, edited));
  EXPECT_EQ(counts_text(run()), "1 executed, 3 reused, 0 failed, 0 skipped");
  EXPECT_EQ(read_record(folder_of("corpus"))->metrics[0].value, 42);
  // Nor one that was given an older schema to get rid of its checksum.
  edited["schema"] = 1;
  edited.erase("checksum");
  edited.erase("checkpoint");
  ASSERT_TRUE(write_json(path, edited));
  ASSERT_TRUE(read_record(folder_of("corpus")));
  EXPECT_EQ(run().count(NodeOutcome::kExecuted), 1);
}

TEST_F(RunnerTest, OneNodeAloneNeedsItsParents) {
  RunOptions options;
  options.results_dir = folder_.path();
  options.quiet = true;
  options.only = 1;
  const auto early = run_plan(plan_, options, stage());
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().message.find("corpus"), std::string::npos);
  options.only = 0;
  ASSERT_TRUE(run_plan(plan_, options, stage()));
  options.only = 1;
  const auto summary = run_plan(plan_, options, stage());
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(counts_text(*summary), "1 executed, 0 reused, 0 failed, 0 skipped");
  EXPECT_EQ(calls_["shards"], 0);
}

TEST_F(RunnerTest, RecordSaysWhatWasAskedAndOnWhat) {
  run();
  const auto record = read_record(folder_of("predict"));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->kind, "predict");
  EXPECT_EQ(record->node_key, sha256_hex("predict"));
  EXPECT_EQ((*record->settings)["prediction"]["depth"], 20);
  for (const char* key :
       {"host", "simd", "openblas", "threads", "code", "started_at", "finished_at"})
    EXPECT_TRUE(record->environment->contains(key)) << key;
  EXPECT_EQ(record->subject.at("code").size(), 64u);
  EXPECT_EQ(read_record(folder_of("shards"))->parents.size(), 2u);
}

TEST_F(RunnerTest, FullDiskFailsTheNodeAndLeavesNoRecord) {
  // The write that fails may be any: of a stage, of the record, of the run's own files.
  int failed_runs = 0;
  for (int write = 1;; ++write) {
    ASSERT_LT(write, 100);
    std::error_code error;
    fs::remove_all(folder_.path() / plan_.suite, error);
    RunOptions options;
    options.results_dir = folder_.path();
    options.quiet = true;
    fail_writes_after(write, ENOSPC);
    const auto summary = run_plan(plan_, options, stage());
    fail_writes_after(0, 0);
    if (summary && summary->count(NodeOutcome::kFailed) == 0) {
      EXPECT_EQ(summary->count(NodeOutcome::kExecuted), 4) << write;
      break;  // the disk was full when nothing more was to be written
    }
    ++failed_runs;
    SCOPED_TRACE(write);
    std::string said = summary ? "" : summary.error().message;
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      const fs::path folder = folder_of(plan_.nodes[i].name);
      const bool executed = summary && summary->nodes[i].outcome == NodeOutcome::kExecuted;
      if (summary) {
        EXPECT_EQ(has_record(folder), executed) << plan_.nodes[i].name;
      }
      if (has_record(folder)) {
        EXPECT_TRUE(read_record(folder)) << plan_.nodes[i].name;
      }
      if (summary && !summary->nodes[i].message.empty()) said += summary->nodes[i].message + "\n";
    }
    EXPECT_NE(said.find("No space left on device"), std::string::npos) << said;
    const RunSummary again = run();
    EXPECT_EQ(again.count(NodeOutcome::kFailed) + again.count(NodeOutcome::kSkipped), 0);
    for (const Node& node : plan_.nodes) EXPECT_TRUE(read_record(folder_of(node.name)));
  }
  EXPECT_GE(failed_runs, 8);  // four artifacts and four records at the least
}

}  // namespace
}  // namespace nb
