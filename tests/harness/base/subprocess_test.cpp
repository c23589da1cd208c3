#include "harness/base/subprocess.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

Result<SubprocessResult> sh(const std::string& script, const SubprocessOptions& options = {}) {
  return run_subprocess({"sh", "-c", script}, options);
}

TEST(Subprocess, CapturesBothStreamsAndTheExitCode) {
  const auto result = sh("echo out; echo err >&2; exit 3").value();
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_FALSE(result.timed_out);
}

TEST(Subprocess, ArgumentsPassWithoutAShell) {
  EXPECT_EQ(run_subprocess({"printf", "%s|", "a b", "$HOME", "*"}).value().out, "a b|$HOME|*|");
}

TEST(Subprocess, StdinIsEmpty) { EXPECT_EQ(sh("cat").value().out, ""); }

TEST(Subprocess, MuchOutputOnBothStreamsDoesNotBlock) {
  const auto result =
      sh("i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789012345678; "
         "echo 0123456789012345678901234567890123456789012345678 >&2; i=$((i+1)); done")
          .value();
  EXPECT_EQ(result.out.size(), 150'000U);
  EXPECT_EQ(result.err.size(), 150'000U);
}

TEST(Subprocess, EnvironmentIsAddedAndReplaced) {
  SubprocessOptions options;
  options.environment = {{"NB_TEST_X", "1 2"}, {"HOME", "/nowhere"}};
  EXPECT_EQ(sh("echo \"$NB_TEST_X $HOME ${PATH:+path}\"", options).value().out,
            "1 2 /nowhere path\n");
}

TEST(Subprocess, AProgramThatIsNotThereIsASentence) {
  const auto result = run_subprocess({"no-such-program-nb"});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "cannot start no-such-program-nb: No such file or directory");
  EXPECT_EQ(result.error().code, ErrorCode::kRun);
}

TEST(Subprocess, TheTimeLimitKillsTheWholeGroup) {
  SubprocessOptions options;
  options.time_limit = std::chrono::milliseconds(200);
  const auto result = sh("echo before; sleep 600 & sleep 600", options).value();
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 128 + 9);
  EXPECT_EQ(result.out, "before\n");
}

TEST(Subprocess, AChildThatClosesItsOutputIsStillWaitedFor) {
  EXPECT_EQ(sh("exec >&- 2>&-; sleep 0.05; exit 5").value().exit_code, 5);
}

TEST(Subprocess, DeathByASignalIsToldAsShellsDo) {
  EXPECT_EQ(sh("kill -TERM $$").value().exit_code, 128 + 15);
}

TEST(Subprocess, TooMuchOutputIsAnErrorNotACut) {
  SubprocessOptions options;
  options.output_limit_bytes = 1000;
  EXPECT_EQ(sh("yes", options).error().message, "sh printed more than 1000 bytes and was stopped");
}

// Whoever looks at the file of a long child sees what it has printed so far.
TEST(Subprocess, AnOutputFileHasBothStreamsInTheirOrder) {
  const test::TempDir dir;
  ASSERT_TRUE(write_file(dir / "log", "of an earlier child\n"));
  SubprocessOptions options;
  options.output_file = dir / "log";
  options.output_limit_bytes = 1;
  const auto result =
      sh("echo one; echo two >&2; read -r first <" + (dir / "log").string() + "; echo saw $first",
         options)
          .value();
  EXPECT_EQ(result.out + result.err, "");
  EXPECT_EQ(read_file(dir / "log").value(), "one\ntwo\nsaw one\n");
  options.time_limit = std::chrono::milliseconds(100);
  EXPECT_TRUE(sh("sleep 600", options).value().timed_out);
  options.output_file = dir / "none/log";
  EXPECT_EQ(sh("true", options).error().message, "cannot start sh: No such file or directory");
}

}  // namespace
}  // namespace nb
