// Every suite of the project parses, with every key known and every name in it resolved.

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "harness/base/fs.hpp"
#include "harness/suite/load.hpp"
#include "results/gate/gate_policy.hpp"
#include "tests/repo/source_tree.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {
namespace {

std::vector<std::string> suite_problems(const std::vector<fs::path>& suites) {
  std::vector<std::string> problems;
  for (const fs::path& path : suites)
    if (const auto suite = load_suite(path, {}); !suite) problems.push_back(suite.error().message);
  return problems;
}

TEST(Suites, EveryOneParses) {
  constexpr std::array<std::string_view, 1> kEndings = {".json"};
  std::vector<fs::path> suites;
  for (const SourceFile& file : source_files(kEndings))
    if (file.path.starts_with("suites/") && !file.path.starts_with("suites/policies/"))
      suites.push_back(fs::path(NB_SOURCE_DIR) / file.path);
  EXPECT_GE(suites.size(), 3U);
  const auto problems = suite_problems(suites);
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

TEST(Policies, EveryOneParses) {
  constexpr std::array<std::string_view, 1> kEndings = {".json"};
  int policies = 0;
  for (const SourceFile& file : source_files(kEndings)) {
    if (!file.path.starts_with("suites/policies/") ||
        file.path.starts_with("suites/policies/noise/"))
      continue;
    const auto policy = read_policy(fs::path(NB_SOURCE_DIR) / file.path);
    EXPECT_TRUE(policy) << policy.error().message;
    ++policies;
  }
  EXPECT_GE(policies, 2);
}

// A card beside a policy says how healthy nights of that suite spread.
TEST(Policies, TheNightlysNoiseProfileIsOfManySeeds) {
  const auto policy = read_policy(fs::path(NB_SOURCE_DIR) / "suites/policies/nightly.json");
  ASSERT_TRUE(policy) << policy.error().message;
  const auto spread = policy->spread_of("train base on ascend_910b3", "val_bpb");
  ASSERT_TRUE(spread.has_value());
  EXPECT_GE(spread->seeds, 25);
  EXPECT_TRUE(policy->spread_of("eval rl.chat on h100_sxm", "mw/gsm8k/accuracy").has_value());
}

// README: a gate on retrained models needs five seeds a side.
TEST(Suites, OneTrainsEveryDeviceWithFiveSeedsAndEvaluates) {
  const auto suite = load_suite(fs::path(NB_SOURCE_DIR) / "suites/five_seeds.json", {});
  ASSERT_TRUE(suite.has_value()) << suite.error().message;
  EXPECT_EQ(suite->seeds, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(suite->devices.size(), 2U);
  EXPECT_TRUE(suite->stages.base.has_value());
  EXPECT_FALSE(suite->evaluations.empty());
}

TEST(Suites, OneThatDoesNotParseIsNamed) {
  const TempDir dir;
  const std::string smoke = read_file(fs::path(NB_SOURCE_DIR) / "suites/smoke.json").value();
  ASSERT_TRUE(write_file(dir / "cut.json", smoke.substr(0, smoke.size() / 2)).has_value());
  std::string misspelt = smoke;
  const auto at = misspelt.find("\"devices\"");
  ASSERT_NE(at, std::string::npos);
  misspelt.replace(at, 9, "\"devises\"");
  ASSERT_TRUE(write_file(dir / "misspelt.json", misspelt).has_value());
  const auto problems = suite_problems({dir / "cut.json", dir / "misspelt.json"});
  ASSERT_EQ(problems.size(), 2U) << lines(problems);
  EXPECT_NE(problems[0].find("cut.json:"), std::string::npos) << problems[0];
  EXPECT_NE(problems[1].find("did you mean \"devices\"?"), std::string::npos) << problems[1];
}

}  // namespace
}  // namespace nb::test
