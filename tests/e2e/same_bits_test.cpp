// One suite, one seed, the same bits: whatever the threads, instruction set, batch size or machine
// of equal policy.
#include <gtest/gtest.h>

#include "model/kernels/simd_level.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

class SameBits : public ::testing::Test {
 protected:
  // One reference run for all tests of this file.
  static void SetUpTestSuite() {
    reference_ = new Bench;
    const auto result = reference_->run(kSmallSuite, {"--threads", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expected_ = new std::map<std::string, std::string>(outcome(reference_->suite_folder()));
    ASSERT_GT(expected_->size(), 10u);
  }
  static void TearDownTestSuite() {
    delete reference_;
    delete expected_;
  }
  static Bench* reference_;
  static std::map<std::string, std::string>* expected_;
};
Bench* SameBits::reference_ = nullptr;
std::map<std::string, std::string>* SameBits::expected_ = nullptr;

TEST_F(SameBits, WithTwoThreads) {
  const Bench other;
  ASSERT_EQ(other.run(kSmallSuite, {"--threads", "2"}).exit_code, 0);
  EXPECT_EQ(first_difference(*expected_, outcome(other.suite_folder())), "");
}

TEST_F(SameBits, WithEveryOpAlone) {
  const Bench other;
  ASSERT_EQ(other.run(kSmallSuite, {"--host-fusion", "off"}).exit_code, 0);
  EXPECT_EQ(first_difference(*expected_, outcome(other.suite_folder())), "");
}

// The scalar level is some hundred times slower, so this one is smaller still.
TEST(SameBitsOfLevels, EveryInstructionSetOfThisHost) {
  const std::vector<std::string> tiny{"--set", R"(/devices=["ascend_910b3", "h100_sxm"])",
                                      "--set", "/stages/base/iterations=2",
                                      "--set", "/stages/base/device_batch_size=1",
                                      "--set", "/stages/base/total_batch_tokens=32",
                                      "--set", "/stages/base/eval_tokens=32",
                                      "--set", "/stages/base/sample_every=0",
                                      "--set", "/evaluations/0/max_per_task=1"};
  std::map<std::string, std::string> expected;
  for (const SimdLevel level : available_levels()) {
    Bench bench;
    bench.environment = {{"NPUBENCH_SIMD", std::string(name(level))}};
    const auto result = bench.run(kSmallSuite, tiny);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto found = outcome(bench.suite_folder());
    if (expected.empty()) expected = found;
    EXPECT_EQ(first_difference(expected, found), "") << name(level);
  }
  EXPECT_GT(expected.size(), 10u);
}

TEST_F(SameBits, WithAnotherEvaluationBatchSize) {
  const Bench other;
  ASSERT_EQ(other.run(kSmallSuite, {"--set", "/evaluations/0/batch_size=3"}).exit_code, 0);
  EXPECT_EQ(first_difference(*expected_, outcome(other.suite_folder())), "");
}

TEST_F(SameBits, WhenEachNodeIsRunByAProcessOfItsOwn) {
  const Bench other;
  for (const char* node : {"dataset-corpus", "tokenizer", "shards", "train-base-ascend_910b3-s1",
                           "eval-base.mw-ascend_910b3-s1"}) {
    const auto result = other.run(kSmallSuite, {"--node", node});
    ASSERT_EQ(result.exit_code, 0) << node << ": " << result.err;
  }
  const auto rest = other.run(kSmallSuite);
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.out.find("5 reused"), std::string::npos) << rest.out;
  EXPECT_EQ(first_difference(*expected_, outcome(other.suite_folder())), "");
}

TEST_F(SameBits, OnAnotherMachineWithTheSamePolicy) {
  const auto npu = read_record(reference_->node("train-base-ascend_910b3-s1"));
  const auto same = read_record(reference_->node("train-base-h100_as_910b3-s1"));
  const auto gpu = read_record(reference_->node("train-base-h100_sxm-s1"));
  ASSERT_TRUE(npu && same && gpu);
  EXPECT_EQ(npu->subject.at("weights"), same->subject.at("weights"));
  EXPECT_NE(npu->subject.at("weights"), gpu->subject.at("weights"));
  const auto a = read_record(reference_->node("eval-base.mw-ascend_910b3-s1"));
  const auto b = read_record(reference_->node("eval-base.mw-h100_as_910b3-s1"));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->artifacts, b->artifacts);  // items with their log-probabilities
}

TEST_F(SameBits, SecondRunReusesEverythingAndChangesNothing) {
  const auto again = reference_->run(kSmallSuite);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_NE(again.out.find("0 executed"), std::string::npos) << again.out;
  EXPECT_EQ(first_difference(*expected_, outcome(reference_->suite_folder())), "");
}

TEST_F(SameBits, FreshRunGivesWhatIsThere) {
  const Bench other;
  ASSERT_EQ(other.run(kSmallSuite).exit_code, 0);
  const auto fresh = other.run(kSmallSuite, {"--fresh"});
  EXPECT_EQ(fresh.exit_code, 0) << fresh.out << fresh.err;
  EXPECT_EQ(first_difference(*expected_, outcome(other.suite_folder())), "");
}

}  // namespace
}  // namespace nb::test
