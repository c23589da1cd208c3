#include "results/gate_judge.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/base/rng.hpp"

namespace nb {
namespace {

ItemTest item_test(const PairedCounts& counts, const std::string& task = "t") {
  ItemTest test;
  test.task = task;
  test.counts = counts;
  return test;
}

Verdict judge_one(const PairedCounts& counts, const GatePolicy& policy = {}) {
  std::vector<ItemTest> family = {item_test(counts)};
  judge_items(family, policy);
  return family[0].verdict.verdict;
}

TEST(JudgeItems, FollowsTheRuleOfStatistics6) {
  EXPECT_EQ(judge_one({500, 0, 0, 500}), Verdict::kPass);
  EXPECT_EQ(judge_one({480, 20, 0, 500}), Verdict::kRegressed);  // −2 pp, p = 2^-20
  EXPECT_EQ(judge_one({480, 0, 20, 500}), Verdict::kImproved);
  EXPECT_EQ(judge_one({400, 60, 50, 490}), Verdict::kInconclusive);  // −1 pp ± 2
  // Tiny and certain: worse, within the margin, green with a note (14,042 items, margin 1 pp).
  std::vector<ItemTest> family = {item_test({6000, 30, 5, 8007})};
  judge_items(family, {});
  EXPECT_EQ(family[0].verdict.verdict, Verdict::kPass);
  EXPECT_NE(family[0].verdict.reason.find("worse, within the margin"), std::string::npos);
}

TEST(JudgeItems, CannotTellSaysWhatItWouldTake) {
  std::vector<ItemTest> family = {item_test({400, 60, 50, 490}), item_test({10, 2, 0, 28})};
  judge_items(family, {});
  EXPECT_EQ(family[0].verdict.verdict, Verdict::kInconclusive);
  EXPECT_NE(family[0].verdict.reason.find("items would settle it with 80 % power"),
            std::string::npos)
      << family[0].verdict.reason;
  EXPECT_TRUE(family[0].verdict.uncalibrated);
}

TEST(JudgeItems, HolmCountsTheWholeFamily) {
  // 6 lost, 0 won: one-sided mid-p .0078; red alone, not as one of ten.
  EXPECT_EQ(judge_one({100, 6, 0, 94}), Verdict::kRegressed);
  std::vector<ItemTest> family(10, item_test({100, 0, 0, 100}));
  family[3] = item_test({100, 6, 0, 94});
  judge_items(family, {});
  EXPECT_NE(family[3].verdict.verdict, Verdict::kRegressed);
  EXPECT_NEAR(*family[3].verdict.p_worse_holm, .078125, 1e-15);
}

TEST(JudgeItems, PolicyOverridesMarginAndCalibrates) {
  GatePolicy policy;
  policy.card_discordance["t"] = .03;
  std::vector<ItemTest> family = {item_test({400, 15, 15, 742})};
  judge_items(family, policy);
  EXPECT_FALSE(family[0].verdict.uncalibrated);
  EXPECT_NEAR(*family[0].verdict.margin, 3.3 * std::sqrt(.03 / 1172), 1e-12);
  policy.margins["t"] = .2;
  judge_items(family, policy);
  EXPECT_EQ(*family[0].verdict.margin, .2);
  policy.exact_test = true;
  family = {item_test({100, 6, 0, 94})};
  judge_items(family, policy);
  EXPECT_EQ(*family[0].verdict.p_worse, .015625);
}

// The five-task night of statistics.md §9, simulated with our own generator: flips only, as in its
// table.
struct Night {
  double red = 0, inconclusive = 0;
};
Night simulate(double psi, double drop, double card, int nights) {
  const std::pair<const char*, int> tasks[] = {
      {"humaneval", 164}, {"gsm8k", 1319}, {"arc_c", 1172}, {"arc_e", 2376}, {"mmlu", 14042}};
  GatePolicy policy;
  for (const auto& [task, n] : tasks) policy.card_discordance[task] = card;
  Night result;
  for (int night = 0; night < nights; ++night) {
    std::vector<ItemTest> family;
    for (const auto& [task, n] : tasks) {
      const Rng rng(20240817, task, static_cast<std::uint64_t>(night));
      PairedCounts counts;
      for (int i = 0; i < n; ++i) {
        const double u = rng.uniform(static_cast<std::uint64_t>(i));
        // Lost with (ψ + drop)/2, won with (ψ − drop)/2; the rest split between both and neither.
        if (u < (psi + drop) / 2)
          ++counts.only_a;
        else if (u < psi)
          ++counts.only_b;
        else
          ++(u < .6 ? counts.both : counts.neither);
      }
      family.push_back(item_test(counts, task));
    }
    judge_items(family, policy);
    bool red = false, unclear = false;
    for (const ItemTest& test : family) {
      red |= test.verdict.verdict == Verdict::kRegressed;
      unclear |= test.verdict.verdict == Verdict::kInconclusive;
    }
    result.red += red ? 1.0 / nights : 0;
    result.inconclusive += !red && unclear ? 1.0 / nights : 0;
  }
  return result;
}

// Rows of the table in statistics.md §6 (2500 nights; ours fewer: one standard error of a share is
// at most .04).
TEST(JudgeItems, NightsBehaveAsPublished) {
  const Night still = simulate(.002, 0, .002, 60);
  EXPECT_LE(still.red, .02);
  EXPECT_LE(still.inconclusive, .02);
  const Night healthy = simulate(.01, 0, .01, 200);
  EXPECT_LE(healthy.red, .06) << "published .025";
  EXPECT_NEAR(healthy.inconclusive, .117, .08);
  const Night half = simulate(.01, .005, .01, 100);
  EXPECT_NEAR(half.red, .880, .11);
  const Night full = simulate(.015, .01, .01, 40);
  EXPECT_GE(full.red, .99);
}

SeedTest seed_test(std::vector<double> base, std::vector<double> candidate, const std::string& unit,
                   Direction direction) {
  SeedTest test;
  test.unit = unit;
  test.direction = direction;
  test.base = std::move(base);
  test.candidate = std::move(candidate);
  return test;
}

TaskVerdict judge_seed_test(const SeedTest& test) {
  std::vector<SeedTest> family = {test};
  judge_seeds(family, {});
  return family[0].verdict;
}

const std::vector<double> kBpb = {1.8830, 1.8835, 1.8826, 1.8829, 1.8833};

TEST(JudgeSeeds, FewerThanFiveCannotTell) {
  const TaskVerdict one = judge_seed_test(seed_test({1.5}, {9.5}, "bit/byte", Direction::kLower));
  EXPECT_EQ(one.verdict, Verdict::kInconclusive);
  EXPECT_NE(one.reason.find("1 seed against 1; needs at least 5 a side"), std::string::npos)
      << one.reason;
  const TaskVerdict four = judge_seed_test(
      seed_test({1.50, 1.51, 1.49, 1.50}, {1.52, 1.50, 1.53, 1.51}, "bit/byte", Direction::kLower));
  EXPECT_EQ(four.verdict, Verdict::kInconclusive);
  EXPECT_NE(four.reason.find("80 % power"), std::string::npos) << four.reason;
}

TEST(JudgeSeeds, DirectionDecides) {
  std::vector<double> worse = kBpb, better = kBpb;
  for (double& v : worse) v += .003;
  for (double& v : better) v -= .0007;
  EXPECT_EQ(judge_seed_test(seed_test(kBpb, kBpb, "bit/byte", Direction::kLower)).verdict,
            Verdict::kPass);
  EXPECT_EQ(judge_seed_test(seed_test(kBpb, worse, "bit/byte", Direction::kLower)).verdict,
            Verdict::kRegressed);
  EXPECT_EQ(judge_seed_test(seed_test(kBpb, better, "bit/byte", Direction::kLower)).verdict,
            Verdict::kImproved);
  EXPECT_EQ(judge_seed_test(seed_test(worse, kBpb, "bit/byte", Direction::kHigher)).verdict,
            Verdict::kRegressed);
}

TEST(JudgeSeeds, TooGoodIsSuspicious) {
  std::vector<double> leaked = kBpb;
  for (double& v : leaked) v -= .05;
  const TaskVerdict verdict =
      judge_seed_test(seed_test(kBpb, leaked, "bit/byte", Direction::kLower));
  EXPECT_EQ(verdict.verdict, Verdict::kSuspicious);
  EXPECT_NE(verdict.reason.find("leak"), std::string::npos);
}

TEST(JudgeSeeds, DifferencesBelowTheFloorAreNeverRed) {
  std::vector<double> base = {1, 1.00001, 1.00002, 1.00001, 1}, worse = base;
  for (double& v : worse) v += .0003;  // certain, but under .0005 bit/byte
  EXPECT_EQ(judge_seed_test(seed_test(base, worse, "bit/byte", Direction::kLower)).verdict,
            Verdict::kPass);
}

TEST(JudgeExact, AnyDifferenceIsAChange) {
  const auto judge = [](double base, double candidate, Direction direction) {
    TaskVerdict verdict;
    judge_exact(verdict, base, candidate, direction, "ns");
    return verdict;
  };
  EXPECT_EQ(judge(100, 100, Direction::kLower).verdict, Verdict::kPass);
  EXPECT_EQ(judge(1e12, 1e12 + 1, Direction::kLower).verdict, Verdict::kRegressed);
  EXPECT_NE(judge(1e12, 1e12 + 1, Direction::kLower).reason.find("1000000000001 ns"),
            std::string::npos)
      << judge(1e12, 1e12 + 1, Direction::kLower).reason;
  EXPECT_EQ(judge(100, 99, Direction::kLower).verdict, Verdict::kImproved);
  EXPECT_EQ(judge(100, 99, Direction::kHigher).verdict, Verdict::kRegressed);
  EXPECT_EQ(judge(100, 99, Direction::kNone).verdict, Verdict::kInconclusive);
}

}  // namespace
}  // namespace nb
