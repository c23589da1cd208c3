// Killed and resumed runs end with the same bytes as undisturbed ones.
#include <gtest/gtest.h>

#include <cerrno>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/progress.hpp"
#include "model/train/checkpoint.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::Killed;

class Resume : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  // Runs until the `nth` event of a kind, then dies as if killed there.
  void run_and_die(const std::filesystem::path& folder, std::int64_t step, bool after_checkpoint) {
    TrainHooks hooks;
    const auto die_at = [step](std::int64_t at) {
      if (at == step) throw Killed{};
    };
    if (after_checkpoint) {
      hooks.on_checkpoint = die_at;
    } else {
      hooks.on_step = [die_at](const StepRow& row) { die_at(row.step); };
    }
    EXPECT_THROW((void)test::run_tiny(data_, settings_, folder, hooks), Killed);
  }
  static void expect_same(const TrainResult& a, const TrainResult& b) {
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
      EXPECT_EQ(step_values(a.steps[i], TrainingStage::kBase),
                step_values(b.steps[i], TrainingStage::kBase))
          << "row " << i;
    }
    EXPECT_EQ(a.samples.size(), b.samples.size());
    EXPECT_EQ(a.smoothed_loss, b.smoothed_loss);
    EXPECT_EQ(a.train_time_ns, b.train_time_ns);
    EXPECT_EQ(a.peak_allocated_bytes, b.peak_allocated_bytes);
    EXPECT_EQ(a.peak_reserved_bytes, b.peak_reserved_bytes);
    EXPECT_EQ(*sha256_file(a.checkpoint), *sha256_file(b.checkpoint));
  }
  const test::TinyData data_ = test::tiny_data();
  TrainSettings settings_ = test::tiny_settings();
};

TEST_F(Resume, EveryKillEndsWithTheSameBytes) {
  const test::TempDir whole;
  const auto undisturbed = test::run_tiny(data_, settings_, whole.path());
  ASSERT_TRUE(undisturbed) << undisturbed.error().message;
  for (const auto& [step, after_checkpoint] :
       std::vector<std::pair<std::int64_t, bool>>{{0, false},
                                                  {1, false},
                                                  {2, true},
                                                  {2, false},
                                                  {3, false},
                                                  {5, false},
                                                  {6, true},
                                                  {7, false},
                                                  {8, false},
                                                  {8, true}}) {
    SCOPED_TRACE(step);
    const test::TempDir folder;
    run_and_die(folder.path(), step, after_checkpoint);
    std::vector<std::int64_t> told;
    TrainHooks hooks;
    hooks.on_step = [&](const StepRow& row) { told.push_back(row.step); };
    const auto resumed = test::run_tiny(data_, settings_, folder.path(), hooks);
    ASSERT_TRUE(resumed) << resumed.error().message;
    expect_same(*undisturbed, *resumed);
    EXPECT_EQ(told, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  }
}

// It changed the file's hash and refused to resume.
TEST_F(Resume, CheckpointEveryChangesNoByteAndRefusesNothing) {
  const test::TempDir often, seldom, changed;
  const auto expected = test::run_tiny(data_, settings_, often.path());
  ASSERT_TRUE(expected) << expected.error().message;
  run_and_die(changed.path(), 5, /*after_checkpoint=*/false);
  settings_.checkpoint_every = 0;
  const auto once = test::run_tiny(data_, settings_, seldom.path());
  ASSERT_TRUE(once) << once.error().message;
  expect_same(*expected, *once);
  const auto resumed = test::run_tiny(data_, settings_, changed.path());
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->resumed_from_step, 4);
  expect_same(*expected, *resumed);
}

TEST_F(Resume, KeptStepsAreTheSameBytesAfterAKillAndChangeNoOther) {
  const test::TempDir plain, whole;
  const auto expected = test::run_tiny(data_, settings_, plain.path());
  ASSERT_TRUE(expected) << expected.error().message;
  settings_.keep_steps = {0, 3};
  const auto kept = test::run_tiny(data_, settings_, whole.path());
  ASSERT_TRUE(kept) << kept.error().message;
  expect_same(*expected, *kept);
  const auto digest = [](const test::TempDir& folder, std::int64_t step) {
    return sha256_file(checkpoint_path(folder.path(), step)).value_or("missing");
  };
  EXPECT_NE(digest(whole, 0), "missing");
  EXPECT_NE(digest(whole, 3), "missing");
  for (const std::int64_t step : {0, 1, 3, 4, 7}) {
    SCOPED_TRACE(step);
    const test::TempDir folder;
    run_and_die(folder.path(), step, /*after_checkpoint=*/false);
    const auto resumed = test::run_tiny(data_, settings_, folder.path());
    ASSERT_TRUE(resumed) << resumed.error().message;
    expect_same(*expected, *resumed);
    EXPECT_EQ(digest(folder, 0), digest(whole, 0));
    EXPECT_EQ(digest(folder, 3), digest(whole, 3));
  }
}

TEST_F(Resume, AKeptStepBeyondTheTrainingIsRefused) {
  const test::TempDir folder;
  settings_.keep_steps = {9};
  const auto refused = test::run_tiny(data_, settings_, folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "keep_steps: 9: the training has the steps 0 to 8; give some of these");
}

TEST_F(Resume, ThreadsChangeNoByte) {
  const test::TempDir one;
  const test::TempDir two;
  set_threads(1);
  const auto a = test::run_tiny(data_, settings_, one.path());
  set_threads(2);
  const auto b = test::run_tiny(data_, settings_, two.path());
  set_threads(0);
  ASSERT_TRUE(a && b);
  expect_same(*a, *b);
}

TEST_F(Resume, KeepsTheTwoNewestCheckpoints) {
  const test::TempDir folder;
  ASSERT_TRUE(test::run_tiny(data_, settings_, folder.path()));
  const auto paths = list_checkpoints(folder.path());
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0].path.filename(), "step_000008.safetensors");
  EXPECT_EQ(paths[1].path.filename(), "step_000006.safetensors");
}

TEST_F(Resume, AFullDiskLeavesTheOlderCheckpoint) {
  const test::TempDir folder;
  TrainHooks hooks;
  hooks.on_checkpoint = [](std::int64_t step) {
    if (step == 2) fail_writes_after(2, ENOSPC);
  };
  const auto failed = test::run_tiny(data_, settings_, folder.path(), hooks);
  fail_writes_after(0, 0);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kRun);
  EXPECT_NE(failed.error().message.find("checkpoint of step 4"), std::string::npos)
      << failed.error().message;
  const auto paths = list_checkpoints(folder.path());
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_TRUE(SafetensorsFile::open(paths[0].path));
  const auto resumed = test::run_tiny(data_, settings_, folder.path());
  ASSERT_TRUE(resumed);
  EXPECT_EQ(resumed->resumed_from_step, 2);
}

}  // namespace
}  // namespace nb
