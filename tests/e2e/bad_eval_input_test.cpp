// What people give `npubench eval` and `npubench data` by mistake: one sentence, exit 64, nothing
// written.
#include <gtest/gtest.h>

#include <array>

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

// These ran with other settings than people meant; NaN ended in a failed check.
TEST_F(BadEvalInput, NumbersOutOfRange) {
  constexpr std::array<std::array<const char*, 3>, 8> kCases = {{
      {"--max-per-task", "0", "--max-per-task: 0 is less than 1 (npubench eval --help)\n"},
      {"--max-per-task", "-5", "--max-per-task: -5 is less than 1 (npubench eval --help)\n"},
      {"--samples", "0", "--samples: 0 is not from 1 to 1000 (npubench eval --help)\n"},
      {"--temperature", "-1", "--temperature: -1 is not from 0 to 100 (npubench eval --help)\n"},
      {"--temperature", "nan", "--temperature: nan is not from 0 to 100 (npubench eval --help)\n"},
      {"--top-k", "-2", "--top-k: -2 is less than 0 (npubench eval --help)\n"},
      {"--max-new-tokens", "0", "--max-new-tokens: 0 is less than 1 (npubench eval --help)\n"},
      {"--shards", "0", "--shards: Value 0 not in range 1 to 100000 (npubench eval --help)\n"},
  }};
  for (const auto& [flag, value, message] : kCases) EXPECT_EQ(error_with(flag, value), message);
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
            "no data file or group is called \"core/arc_esay\"; did you mean \"core/arc_easy\"? "
            "(npubench data list shows all)\n");
}

// It said "0 of 99 files verified" and exit 0.
TEST_F(BadEvalInput, AFolderThatIsNotThereIsNotVerified) {
  EXPECT_EQ(error_of({"data", "verify", "--data-dir", "/nonexistent"}),
            "data folder /nonexistent does not exist\n");
}

}  // namespace
}  // namespace nb::test
