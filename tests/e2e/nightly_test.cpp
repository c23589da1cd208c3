// harness/nightly.sh as a nightly job calls it.
#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

SubprocessResult nightly(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{"bash", NB_SOURCE_DIR "/harness/nightly.sh", "--npubench",
                                NB_BINARY_DIR "/npubench"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  SubprocessOptions options;
  options.time_limit = std::chrono::minutes(5);
  auto result = run_subprocess(argv, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Nightly : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(NB_EMULATOR)
    GTEST_SKIP() << "skipped: the script starts the program without an emulator";
#endif
  }
  SubprocessResult night(const std::string& name, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"--suite",  NB_SOURCE_DIR "/tests/e2e/shortest.json",
                                       "--nights", nights_.path().string(),
                                       "--name",   name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return nightly(arguments);
  }
  TempDir nights_;
};

TEST_F(Nightly, FirstNightIsReportedAndSecondIsJudgedAgainstTheAcceptedOne) {
  const auto first = night("n1");
  ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
  EXPECT_TRUE(says(first.out, "no baseline yet")) << first.out;
  EXPECT_TRUE(fs::exists(nights_ / "n1/report/report.html"));

  fs::create_directories(nights_ / "accepted");
  fs::copy(nights_ / "n1/shortest", nights_ / "accepted/shortest", fs::copy_options::recursive);
  const auto second = night("n2", {"--lang", "zh"});
  ASSERT_EQ(second.exit_code, 0) << second.out << second.err;
  EXPECT_TRUE(second.out.starts_with("PASS (exit 0): ")) << second.out;
  EXPECT_EQ(*read_file(nights_ / "n2/summary.txt"), second.out);
  EXPECT_TRUE(says(*read_file(nights_ / "n2/report/report.html"), "PASS（退出码 0）"));
  EXPECT_TRUE(fs::exists(nights_ / "n2/gate.json"));
}

// The gate's, not the last step's: the report is written all the same.
TEST_F(Nightly, ExitCodeIsTheGates) {
  ASSERT_EQ(night("n1").exit_code, 0);
  fs::create_directories(nights_ / "accepted");
  fs::copy(nights_ / "n1/shortest", nights_ / "accepted/shortest", fs::copy_options::recursive);
  ASSERT_TRUE(write_file(nights_ / "hot/shortest.json",
                         *read_file(NB_SOURCE_DIR "/tests/e2e/shortest.json")));
  std::string suite = *read_file(nights_ / "hot/shortest.json");
  const std::string depth = "\"depth\": 1,";
  suite.replace(suite.find(depth), depth.size(), depth + " \"matrix_lr\": 0.5,");
  ASSERT_TRUE(write_file(nights_ / "hot/shortest.json", suite));
  const auto judged = night("n2", {"--suite", (nights_ / "hot/shortest.json").string()});
  EXPECT_EQ(judged.exit_code, 1) << judged.out << judged.err;
  EXPECT_TRUE(says(judged.out, "matrix_lr 0.02 → 0.5")) << judged.out;
  EXPECT_TRUE(says(judged.out, "exit      1"));
  EXPECT_TRUE(fs::exists(nights_ / "n2/report/report.html"));
}

// Two machines' files: what the second lost against the first is the night's verdict.
TEST_F(Nightly, ImportedNightsAreJudgedSideBySide) {
  std::string gpu = "item,outcome\n", npu = gpu;
  for (int i = 0; i < 200; ++i) {
    gpu += "q" + std::to_string(i) + (i % 4 != 0 ? ",1\n" : ",0\n");
    npu += "q" + std::to_string(i) + (i % 4 != 0 && i % 5 != 1 ? ",1\n" : ",0\n");
  }
  ASSERT_TRUE(write_file(nights_ / "gpu/toy.csv", gpu));
  ASSERT_TRUE(write_file(nights_ / "npu/toy.csv", npu));
  const auto import = [&](const std::string& name, const char* second) {
    return nightly({"--nights", nights_.path().string(), "--name", name, "--import",
                    (nights_ / "gpu").string(), "--import", (nights_ / second).string()});
  };
  const auto worse = import("n1", "npu");
  EXPECT_EQ(worse.exit_code, 1) << worse.out << worse.err;
  EXPECT_TRUE(says(worse.out, "REGRESSED")) << worse.out;
  const std::string html = *read_file(nights_ / "n1/report/report.html");
  EXPECT_TRUE(says(html, "B is worse on")) << "the first screen says what differs";
  EXPECT_TRUE(says(html, "id=items-data")) << "the items that flipped";
  const auto same = import("n2", "gpu");
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_TRUE(same.out.starts_with("PASS")) << same.out;
}

TEST_F(Nightly, BadUsageIsOneSentence) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--import", "a"}, "--import is given 1 times; give it twice"},
      {{"--name", "accepted"}, "not \"accepted\""},
      {{"--keep", "two"}, "--keep two is not a whole number"},
      {{"--lang", "fr"}, "--lang fr: en or zh"},
      {{"--suite", "none.json"}, "none.json: no such file"},
      {{"--suite"}, "--suite wants a value"}};
  for (const auto& [arguments, part] : cases) {
    const auto result = nightly(arguments);
    EXPECT_EQ(result.exit_code, 64) << part;
    EXPECT_TRUE(says(result.err, part)) << result.err;
  }
}

}  // namespace
}  // namespace nb::test
