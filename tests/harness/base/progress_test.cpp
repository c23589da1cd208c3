#include "harness/base/progress.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nb {
namespace {

class ProgressOutput : public testing::Test {
 protected:
  void TearDown() override { set_progress_mode(ProgressMode::kAuto); }
  static std::string output_of_short_work() {
    testing::internal::CaptureStderr();
    {
      Progress progress("train", 10, "steps");
      for (int i = 0; i <= 10; ++i) progress.update(i);
    }
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(ProgressOutput, QuietPrintsNothing) {
  set_progress_mode(ProgressMode::kQuiet);
  EXPECT_EQ(output_of_short_work(), "");
  EXPECT_EQ(progress_mode(), ProgressMode::kQuiet);
}

TEST_F(ProgressOutput, ShortWorkPrintsNoLinesOffATerminal) {
  set_progress_mode(ProgressMode::kPlain);
  EXPECT_EQ(output_of_short_work(), "");
}

}  // namespace
}  // namespace nb
