#include "harness/base/progress.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "harness/base/text_width.hpp"

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

ProgressState half_way() {
  return {.label = "train ascend_910b3",
          .unit = "step",
          .done = 1200,
          .total = 2400,
          .rate = 4,
          .note = "loss 3.2000"};
}

TEST(ProgressLine, IsNeverWiderThanTheTerminal) {
  ProgressState state = half_way();
  state.label = "eval-base.core-ascend_910b3-s1 bigbench_language_identification";
  for (std::size_t width = 1; width <= 200; ++width)
    for (const std::string& label : {state.label, half_way().label}) {
      state.label = label;
      EXPECT_LE(display_width(progress_bar(state, width)), width) << width;
    }
}

TEST(ProgressLine, FillsAsMuchOfTheBarAsIsDone) {
  EXPECT_EQ(progress_bar(half_way(), 200),
            "train ascend_910b3: [############............] 1,200/2,400 steps, 4.00 steps/s, "
            "5 min 00 s left, loss 3.2000");
  // 79 columns: no room for the bar, nor for the note.
  EXPECT_EQ(progress_bar(half_way(), 79),
            "train ascend_910b3: 1,200/2,400 steps, 4.00 steps/s, 5 min 00 s left");
  EXPECT_EQ(progress_bar(half_way(), 49), "train ascend…: 1,200/2,400 steps, 5 min 00 s left");
}

TEST(ProgressLine, OneStepIsSingularAndTheEndSaysHowLongItTook) {
  ProgressState state = half_way();
  state.done = state.total = 1;
  state.note.clear();
  state.is_finished = true;
  state.elapsed_ns = 2.5e8;
  EXPECT_EQ(progress_text(state), "train ascend_910b3: 1/1 step, 4.00 steps/s, took 250 ms");
}

// A pseudo-terminal of 60 columns: the line is redrawn in place, never wider than the terminal, and
// nothing of it is left.
TEST(ProgressTerminal, RedrawsOneLineAndErasesItAtTheEnd) {
  int terminal = -1, other = -1;
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 60;
  ASSERT_EQ(::openpty(&terminal, &other, nullptr, nullptr, &size), 0);
  const int stderr_before = ::dup(STDERR_FILENO);
  std::string drawn;
  {
    ASSERT_GE(::dup2(other, STDERR_FILENO), 0);
    ::setenv("TERM", "xterm", 1);
    {
      Progress progress("train ascend_910b3", 1000, "step");
      for (int i = 0; i <= 3; ++i) {
        progress.update(i, "loss 3.2000");
        std::this_thread::sleep_for(std::chrono::milliseconds(210));
      }
    }
    ASSERT_GE(::dup2(stderr_before, STDERR_FILENO), 0);
  }
  ::close(stderr_before);
  ::close(other);
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;)
    drawn.append(buffer.data(), static_cast<std::size_t>(n));
  ::close(terminal);
  EXPECT_EQ(drawn.find('\n'), std::string::npos) << drawn;
  EXPECT_TRUE(drawn.ends_with("\r\x1b[K")) << drawn;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < drawn.size();) {
    const std::size_t end = std::min(drawn.find('\r', at), drawn.size());
    std::string line = drawn.substr(at, end - at);
    if (const std::size_t erase = line.find("\x1b[K"); erase != line.npos) line.erase(erase);
    EXPECT_LT(display_width(line), 60u) << line;
    lines += line.empty() ? 0 : 1;
    at = end + 1;
  }
  EXPECT_GE(lines, 2u);
}

}  // namespace
}  // namespace nb
