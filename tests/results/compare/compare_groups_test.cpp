// Runs whose seeds differ are compared as groups: what was asked of them counts, their seeds do
// not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/compare/compare.hpp"
#include "results/gate/gate.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

// Five seeds of one training, which says its rate and its seed.
void add_group(FakeRun& run, std::int64_t first_seed, double rate, double bpb = 1.5) {
  for (std::int64_t seed = first_seed; seed < first_seed + 5; ++seed)
    run.add_training("ascend_910b3", seed, bpb + .0001 * static_cast<double>(seed), 0,
                     [&](Record& record) {
                       *record.settings = {{"base", {{"rate", rate}, {"seed", seed}}}};
                     });
}

TEST(CompareGroups, ASettingThatDiffersIsNamedOnce) {
  FakeRun a, b;
  add_group(a, 1, .1);
  add_group(b, 6, .2);
  const Comparison comparison = compare_runs(a.read(), b.read());
  ASSERT_EQ(comparison.confounders.size(), 1U) << comparison_text(comparison);
  const Confounder& found = comparison.confounders.front();
  EXPECT_EQ(found.field, "/settings/base/rate");
  EXPECT_EQ(found.a, "0.1");
  EXPECT_EQ(found.b, "0.2");
  EXPECT_EQ(found.where, std::vector<std::string>{"train base on ascend_910b3"});
}

// It said so before, though the groups' settings had not been looked at.
TEST(CompareGroups, SettingsAreEqualOnlyWhereNothingButTheSeedDiffers) {
  FakeRun a, b;
  add_group(a, 1, .1);
  add_group(b, 6, .1);
  const Comparison comparison = compare_runs(a.read(), b.read());
  EXPECT_TRUE(comparison.confounders.empty()) << comparison_text(comparison);
  EXPECT_NE(comparison_text(comparison).find("settings and code are equal"), std::string::npos);
}

TEST(CompareGroups, OneSeedOfTheGroupIsEnough) {
  FakeRun a, b;
  add_group(a, 1, .1);
  add_group(b, 6, .1);
  b.add_training("ascend_910b3", 11, 1.5, 0, [](Record& record) {
    *record.settings = {{"base", {{"rate", .1}, {"clip", 1}, {"seed", 11}}}};
  });
  const Comparison comparison = compare_runs(a.read(), b.read());
  ASSERT_EQ(comparison.confounders.size(), 1U) << comparison_text(comparison);
  EXPECT_EQ(comparison.confounders.front().field, "/settings/base/clip");
}

TEST(CompareGroups, TheGateNamesTheLikelyCause) {
  FakeRun a, b;
  add_group(a, 1, .1);
  add_group(b, 6, .2, 1.6);
  const GateResult result = gate(a.read(), b.read());
  EXPECT_EQ(result.exit_code, 1) << gate_text(result);
  EXPECT_NE(text_of(result.likely_cause).find("/settings/base/rate"), std::string::npos)
      << gate_text(result);
}

}  // namespace
}  // namespace nb
