// What people give `npubench eval` and `npubench data` by mistake: one sentence, exit 64, nothing
// written.
#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

class BadEvalInput : public testing::Test {
 protected:
  // The message without "npubench: "; the results folder must stay empty.
  std::string error_of(std::vector<std::string> arguments, int exit_code = 64) {
    const bool is_eval = arguments.front() == "eval";
    if (is_eval)
      arguments.insert(arguments.end(), {"--quiet", "--results-dir", bench_.results().string()});
    const SubprocessResult result = bench_(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(fs::is_empty(bench_.results()));
    EXPECT_TRUE(result.err.starts_with("npubench: ")) << result.err;
    return result.err.substr(std::min<std::size_t>(10, result.err.size()));
  }
  std::string error_with(const std::string& flag, const std::string& value) {
    return error_of({"eval", "--model", "oracle", "--task", "mw", flag, value});
  }
  Bench bench_;
};

// These ran with other settings than people meant (-1 was the largest seed, 2^32 + 1 tokens were
// one); NaN ended in a failed check.
TEST_F(BadEvalInput, NumbersOutOfRange) {
  constexpr const char* kCases[][2] = {
      {"--max-per-task", "0 is less than 1"},
      {"--max-per-task", "-5 is less than 1"},
      {"--max-per-task", "\"2.5\" is not a whole number"},
      {"--max-per-task", "99999999999999999999 is not from 1 to 9223372036854775807"},
      {"--samples", "0 is not from 1 to 1000"},
      {"--samples", "1001 is not from 1 to 1000"},
      {"--temperature", "-1 is not from 0 to 100"},
      {"--temperature", "nan is not from 0 to 100"},
      {"--temperature", "inf is not from 0 to 100"},
      {"--temperature", "warm is not a number"},
      {"--top-k", "-2 is not from 0 to 1073741824"},
      {"--top-k", "4294967297 is not from 0 to 1073741824"},
      {"--max-new-tokens", "0 is less than 1"},
      {"--batch", "4097 is not from 1 to 4096"},
      {"--seed", "\"-1\" is not a whole number from 0 up"},
      {"--seed", "\"1e3\" is not a whole number from 0 up"},
      {"--seed", "18446744073709551616 is not from 0 to 18446744073709551615"},
      {"--shards", "0 is not from 1 to 100000"},
      {"--shard", "-1 is less than 0"},
      {"--threads", "1025 is not from 0 to 1024"},
  };
  for (const auto& [flag, message] : kCases) {
    std::string value = std::string(message).substr(0, std::string(message).find(" is "));
    std::erase(value, '"');
    EXPECT_EQ(error_with(flag, value),
              flag + std::string(": ") + message + " (npubench eval --help)\n");
  }
  EXPECT_EQ(error_with("--shard", "4"), "--shard 4: with --shards 1 the shards are 0 to 0\n");
}

TEST_F(BadEvalInput, FilesThatAreNoCompletions) {
  const TempDir folder;
  ASSERT_TRUE(write_file(folder / "empty.jsonl", ""));
  const auto mark = [&](const fs::path& file) {
    return error_of({"eval", "--task", "gsm8k", "--data-dir", folder.path().string(),
                     "--completions", file.string()});
  };
  // No data in this folder: that comes first, before the file is read.
  EXPECT_NE(mark(folder / "empty.jsonl").find("npubench data get gsm8k/test"), std::string::npos);
}

// "--mirror URL core/arc_easy" took the name for a second mirror and fetched everything.
TEST_F(BadEvalInput, ANameBehindAMirrorIsAName) {
  const TempDir folder;
  const std::string error =
      error_of({"data", "get", "--mirror", "http://127.0.0.1:1/", "core/arc_esay", "--no-origins",
                "--attempts", "1", "--data-dir", folder.path().string()});
  EXPECT_EQ(error,
            "there is no data file or group \"core/arc_esay\"; did you mean \"core/arc_easy\"? "
            "(npubench data list)\n");
}

// It said "0 of 99 files verified" and exit 0.
TEST_F(BadEvalInput, AFolderThatIsNotThereIsNotVerified) {
  EXPECT_EQ(error_of({"data", "verify", "--data-dir", "/nonexistent"}),
            "data folder /nonexistent does not exist\n");
}

// A mirror was ignored where a folder was named.
TEST_F(BadEvalInput, AFolderToGetFromTakesNoMirror) {
  EXPECT_EQ(error_of({"data", "get", "--from", "/tmp", "--mirror", "http://127.0.0.1:1/"}),
            "--from excludes --mirror (npubench data --help)\n");
  EXPECT_EQ(error_of({"data", "get", "--from", "/tmp", "--no-origins"}),
            "--from excludes --no-origins (npubench data --help)\n");
}

TEST_F(BadEvalInput, AttemptsAreAFewTimes) {
  for (const char* attempts : {"0", "101", "-1"})
    EXPECT_EQ(
        error_of({"data", "get", "--attempts", attempts}),
        std::string("--attempts: ") + attempts + " is not from 1 to 100 (npubench data --help)\n");
}

}  // namespace
}  // namespace nb::test
