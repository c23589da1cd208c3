// Killed at any moment, damaged in any file: the same command ends with the same bits.
#include <gtest/gtest.h>

#include <chrono>

#include "harness/base/fs.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

using std::chrono::milliseconds;

// One device is enough to be killed.
const std::vector<std::string> kOneDevice{"--set", R"(/devices=["ascend_910b3"])"};

class Interrupted : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const Bench bench;
    const auto start = std::chrono::steady_clock::now();
    const auto result = bench.run(kSmallSuite, kOneDevice);
    duration_ = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expected_ = new std::map<std::string, std::string>(outcome(bench.suite_folder()));
  }
  static void TearDownTestSuite() { delete expected_; }

  // The run goes on and ends as an undisturbed one does.
  static void expect_recovery(const Bench& bench) {
    const auto result = bench.run(kSmallSuite, kOneDevice);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_EQ(first_difference(*expected_, outcome(bench.suite_folder())), "");
    EXPECT_EQ(first_damage(bench.suite_folder()), "");
  }

  static milliseconds duration_;
  static std::map<std::string, std::string>* expected_;
};
milliseconds Interrupted::duration_{};
std::map<std::string, std::string>* Interrupted::expected_ = nullptr;

TEST_F(Interrupted, KilledAtTenMomentsItEndsWithTheSameBits) {
  for (int i = 0; i < 10; ++i) {
    const Bench bench;
    const auto moment = duration_ * (2 * i + 1) / 20;
    const auto killed = bench.run(kSmallSuite, kOneDevice, moment);
    if (!killed.timed_out) continue;  // faster this time than when it was measured
    SCOPED_TRACE("killed after " + std::to_string(moment.count()) + " ms");
    expect_recovery(bench);
  }
}

TEST_F(Interrupted, KilledAgainAndAgainItStillEnds) {
  const Bench bench;
  for (int i = 1; i <= 4; ++i) bench.run(kSmallSuite, kOneDevice, duration_ * i / 5);
  expect_recovery(bench);
}

TEST_F(Interrupted, DamagedFilesAreMadeAgain) {
  const Bench bench;
  ASSERT_EQ(bench.run(kSmallSuite, kOneDevice).exit_code, 0);
  const auto cut = [](const fs::path& path) {
    const auto text = read_file(path);
    ASSERT_TRUE(text) << text.error().message;
    ASSERT_TRUE(write_file(path, text->substr(0, text->size() / 2)));
  };
  cut(bench.node("tokenizer") / "tokenizer.json");
  cut(bench.node("predict") / "record.json");
  const fs::path train = bench.node("train-base");
  for (const auto& checkpoint : fs::directory_iterator(train / "checkpoints"))
    cut(checkpoint.path());
  fs::remove_all(bench.node("eval-base.mw") / "items");
  const auto result = bench.run(kSmallSuite, kOneDevice);
  EXPECT_NE(result.out.find("4 executed"), std::string::npos) << result.out << result.err;
  EXPECT_EQ(first_difference(*expected_, outcome(bench.suite_folder())), "");
}

TEST_F(Interrupted, FullDiskIsSaidAndLeavesNothingHalfWritten) {
  // The n-th write of the process and all later ones fail as on a full disk.
  for (const int n : {1, 6, 14, 25, 40}) {
    Bench bench;
    bench.environment = {{"NPUBENCH_FAIL_WRITE", std::to_string(n)}};
    const auto result = bench.run(kSmallSuite, kOneDevice);
    SCOPED_TRACE("write " + std::to_string(n));
    EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
    EXPECT_NE((result.out + result.err).find("No space left on device"), std::string::npos)
        << result.out << result.err;
    EXPECT_EQ(first_damage(bench.suite_folder()), "");
    bench.environment.clear();
    expect_recovery(bench);
  }
}

TEST_F(Interrupted, TwoProcessesShareAFolderWithoutRunningANodeTwice) {
  const Bench bench;
  const std::string binary = NB_BINARY_DIR "/npubench";
  const std::string command = binary + " run " + kSmallSuite + " --results-dir '" +
                              bench.results().string() + R"(' --set '/devices=["ascend_910b3"]')";
  const auto both = run_subprocess({"sh", "-c", command + " & " + command + "; wait"});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->exit_code, 0) << both->err;
  EXPECT_EQ(first_difference(*expected_, outcome(bench.suite_folder())), "");
  // Every node's log begins exactly once.
  for (const auto& entry : fs::directory_iterator(bench.suite_folder())) {
    if (!fs::exists(entry.path() / "log.txt")) continue;
    const auto log = read_file(entry.path() / "log.txt");
    ASSERT_TRUE(log);
    EXPECT_NE(log->find("starts:"), std::string::npos);
    EXPECT_EQ(log->find("starts:"), log->rfind("starts:")) << *log;
  }
}

}  // namespace
}  // namespace nb::test
