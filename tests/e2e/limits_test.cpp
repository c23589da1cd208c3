// A shell's limits: what npubench cannot live with is one sentence, never a signal.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/subprocess.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

SubprocessResult limited(const std::string& limit, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{"bash", "-c", "ulimit " + limit + " && exec \"$@\"", "bash",
                                NB_BINARY_DIR "/npubench"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto result = run_subprocess(argv);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

TEST(Limits, OfOpenFilesThatIsTooSmallIsOneSentence) {
  const auto result = limited("-n 20", {"list", "devices"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.err,
            "npubench: this shell allows 20 open files, npubench needs 64; raise it: ulimit -n "
            "1024\n");
}

TEST(Limits, OfStackThatIsTooSmallIsOneSentence) {
  const auto result = limited("-s 64", {"list", "devices"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.err,
            "npubench: this shell allows 64 KiB of stack, npubench needs 1024; raise it: ulimit -s "
            "8192\n");
}

TEST(Limits, TheLeastThatIsAskedForIsEnough) {
  const TempDir results;
  for (const char* limit : {"-n 64", "-s 1024"}) {
    const auto result =
        limited(limit, {"eval", "--model", "oracle", "--task", "mw/facts", "--quiet", "--fresh",
                        "--results-dir", results.path().string()});
    EXPECT_EQ(result.exit_code, 0) << limit << ": " << result.err;
  }
}

// It was "File size limit exceeded (core dumped)".
TEST(Limits, OfFileSizesFailsTheNodeWithASentence) {
  const TempDir results;
  const auto result = limited("-f 4", {"eval", "--model", "oracle", "--task", "mw", "--quiet",
                                       "--results-dir", results.path().string()});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

}  // namespace
}  // namespace nb::test
