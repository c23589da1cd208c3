// One recipe on one card and on several, as `npubench run` trains it.
#include <gtest/gtest.h>

#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

TEST(Ranks, CardsShareAStepWithTheBitsOfOneThatAccumulates) {
  const Bench bench;
  const auto ran = bench.run("suites/ranks.json", {"--set", "/stages/base/iterations=3"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto record = [&](const std::string& device) {
    const auto found = read_record(bench.node("train-base-" + device + "-s1"));
    EXPECT_TRUE(found.has_value()) << device;
    return found.value_or(Record());
  };
  const Record alone = record("910b3"), on_gpu = record("h100");
  for (const char* device : {"910b3_dp2", "910b3_dp4", "910b3_dp8"}) {
    const Record together = record(device);
    const bool is_one_each = device == std::string("910b3_dp8");
    EXPECT_EQ(together.subject.at("weights") == alone.subject.at("weights"), is_one_each) << device;
    EXPECT_NE(together.node_key, alone.node_key) << device;
    EXPECT_EQ(find_metric(together, "replica_mismatch")->value, 0) << device;
  }
  // In ring order eight cards add in another order than one.
  EXPECT_NE(record("h100_dp8").subject.at("weights"), on_gpu.subject.at("weights"));
}

// Every stage that trains has the cards of its device; what is evaluated stands on one of them.
TEST(Ranks, ShareTheStepsOfAllStages) {
  const Bench bench;
  const auto ran = bench.run(
      "tests/e2e/stages.json",
      {"--set",
       R"(/devices=["ascend_910b3",{"profile":"ascend_910b3","name":"two","mesh":{"dp":2}},)"
       R"({"profile":"ascend_910b3","name":"shared","mesh":{"dp":2,"zero":1}},)"
       R"({"profile":"ascend_910b3","name":"sharded","mesh":{"fsdp":2}}])",
       "--set", "/stages/base/grad_clip=0"});  // a norm of shares is summed otherwise
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const std::string stage : {"base", "mid", "sft", "rl"}) {
    SCOPED_TRACE(stage);
    const auto record = [&](const std::string& device) {
      return read_record(bench.node("train-" + stage + "-" + device + "-s1")).value_or(Record());
    };
    const Record alone = record("ascend_910b3"), two = record("two");
    for (const Record& several : {two, record("shared"), record("sharded")}) {
      EXPECT_EQ(several.subject.at("weights"), alone.subject.at("weights"));
      EXPECT_NE(several.node_key, alone.node_key);
      EXPECT_EQ(find_metric(several, "replica_mismatch")->value, 0);
      EXPECT_GT(find_metric(several, "link_bytes")->value, 0);
    }
    EXPECT_NE(record("shared").node_key, two.node_key);
    EXPECT_NE(record("sharded").node_key, two.node_key);
    EXPECT_EQ(find_metric(alone, "link_bytes"), nullptr);
  }
}

TEST(Ranks, ThatCannotShareAStepAreRefusedBeforeAnyWork) {
  const Bench bench;
  expect_sentence(
      bench.run("suites/ranks.json", {"--set", "/devices/1/mesh/dp=3"}), 64,
      {"suites/ranks.json: /devices/1", "mesh/dp: 3 ranks cannot share the 8 micro-batches"});
  expect_sentence(bench.run("tests/e2e/stages.json",
                            {"--set", R"(/devices=[{"profile":"ascend_910b3","mesh":{"dp":2}}])",
                             "--set", "/stages/rl/examples_per_step=3"}),
                  64,
                  {"/devices/0", "/stages/rl", "mesh/dp: 2 ranks cannot share the 3 questions"});
  expect_sentence(bench.run("suites/ranks.json", {"--set", "/devices/1/mesh/tp=2"}), 64,
                  {"/devices/1", "mesh/tp: tensor parallel training is not executed here"});
  expect_sentence(bench.run("suites/ranks.json", {"--set", "/devices/1/mesh/dp=0"}), 64,
                  {"/devices/1/mesh/dp"});
}

}  // namespace
}  // namespace nb::test
