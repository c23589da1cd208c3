// A shell's limits: what npubench cannot live with is one sentence, never a signal.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
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

// OpenBLAS did not fit, and its function that says so was called all the same: a signal.
TEST(Limits, OfMemoryIsASentence) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: the sanitizers take terabytes of addresses";
#endif
  for (const char* limit : {"-v 50000", "-v 70000", "-v 90000"}) {
    const TempDir results;
    const auto result =
        limited(limit, {"train", "--depth", "2", "--steps", "2", "--device", "h100_sxm",
                        "--sequence-len", "64", "--total-batch-tokens", "2048", "--quiet",
                        "--results-dir", results.path().string()});
    if (result.exit_code == 0 || result.exit_code == 127) continue;  // enough; too little to load
    EXPECT_EQ(result.exit_code, 4) << limit << ": " << result.err;
    EXPECT_NE(result.err.find("memory"), std::string::npos) << limit << ": " << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

// 100,000 rows or columns took minutes: each looked for its like among all others.
TEST(Limits, OfTimeAreKeptByFilesOf100000RowsOrColumns) {
  constexpr int kMany = 100'000;
  const TempDir folder;
  std::string rows = "|Tasks|Version|Filter|n-shot|Metric| |Value| |Stderr|\n|---|---|---|---|---|";
  rows += "---|---|---|---|\n";
  std::string report = "# a/b\n|Task|Metric|Value|Stderr|\n|---|---|---|---|\n";
  std::string columns = "task", cells = "mmlu";
  for (int i = 0; i < kMany; ++i) {
    rows += fmt::format("|task|1|none|0|acc{}|↑|0.5|±|0.01|\n", i);
    report += fmt::format("|t{}|acc|0.5|0.01|\n", i);
    columns += fmt::format(",r{}", i);
    cells += ",0.5";
  }
  const std::pair<const char*, std::string> kFiles[] = {
      {"rows.md", rows}, {"report.md", report}, {"columns.csv", columns + "\n" + cells + "\n"}};
  for (const auto& [name, text] : kFiles) {
    ASSERT_TRUE(write_file(folder / name, text));
    const auto result = limited("-t 60", {"import", (folder / name).string()});
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
  }
}

// The third power of the number of tasks: 600 of them took 7.5 s, 3,000 a quarter of an hour.
TEST(Limits, OfTimeAreKeptByAComparisonOf3000Tasks) {
  constexpr int kTasks = 3000;
  const TempDir folder;
  for (const char* side : {"a", "b"}) {
    Json results, versions;
    for (int i = 0; i < kTasks; ++i) {
      results[fmt::format("t{}", i)] = {{"acc,none", 0.5}, {"acc_stderr,none", 0.01}};
      versions[fmt::format("t{}", i)] = 1;
    }
    const Json file = {{"results", results},
                       {"versions", versions},
                       {"config", {{"model", "hf"}, {"model_args", "pretrained=m"}}}};
    ASSERT_TRUE(write_json(folder / side / "results_2026-01-01T00-00-00.000000.json", file));
  }
  const auto result =
      limited("-t 60", {"compare", (folder / "a").string(), (folder / "b").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace nb::test
