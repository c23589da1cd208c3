#include "results/gate/gate_judge.hpp"

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

TEST(JudgeItems, FollowsItsRule) {
  EXPECT_EQ(judge_one({500, 0, 0, 500}), Verdict::kPass);
  EXPECT_EQ(judge_one({480, 20, 0, 500}), Verdict::kRegressed);  // −2 pp, p = 2^-20
  EXPECT_EQ(judge_one({480, 0, 20, 500}), Verdict::kImproved);
  EXPECT_EQ(judge_one({400, 60, 50, 490}), Verdict::kInconclusive);  // −1 pp ± 2
  // Tiny and certain: worse, within the margin, green with a note (14,042 items, margin 1 pp).
  std::vector<ItemTest> family = {item_test({6000, 30, 5, 8007})};
  judge_items(family, {});
  EXPECT_EQ(family[0].verdict.verdict, Verdict::kPass);
  EXPECT_NE(text_of(family[0].verdict.reason).find("worse, within the margin"), std::string::npos);
}

TEST(JudgeItems, CannotTellSaysWhatItWouldTake) {
  std::vector<ItemTest> family = {item_test({400, 60, 50, 490}), item_test({10, 2, 0, 28})};
  judge_items(family, {});
  EXPECT_EQ(family[0].verdict.verdict, Verdict::kInconclusive);
  EXPECT_NE(text_of(family[0].verdict.reason).find("items would settle it with 80 % power"),
            std::string::npos)
      << text_of(family[0].verdict.reason);
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
  policy.noise_discordance["t"] = .03;
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

// A night of five tasks, simulated with our own generator: flips only, as in its
// table.
struct Night {
  double red = 0, inconclusive = 0;
};
Night simulate(double psi, double drop, double profile, int nights) {
  const std::pair<const char*, int> tasks[] = {
      {"humaneval", 164}, {"gsm8k", 1319}, {"arc_c", 1172}, {"arc_e", 2376}, {"mmlu", 14042}};
  GatePolicy policy;
  for (const auto& [task, n] : tasks) policy.noise_discordance[task] = profile;
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

// Against a published simulation of 2500 nights; ours are fewer: one standard error of a share is
// at most .04.
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
                   Direction direction, bool paired = true) {
  SeedTest test;
  test.unit = unit;
  test.direction = direction;
  test.paired = paired;
  test.base = std::move(base);
  test.candidate = std::move(candidate);
  return test;
}

TaskVerdict judge_seed_test(const SeedTest& test) {
  std::vector<SeedTest> family = {test};
  judge_seeds(family, {});
  return family[0].verdict;
}

SeedTest with_noise(SeedTest test, const SeedNoise& noise) {
  test.noise = noise;
  return test;
}

const std::vector<double> kBpb = {1.8830, 1.8835, 1.8826, 1.8829, 1.8833};

TEST(JudgeSeeds, OneSeedSaysWhatItExcludes) {
  const TaskVerdict one = judge_seed_test(with_noise(
      seed_test({1.5}, {1.52}, "bit/byte", Direction::kLower), {.01, verbatim("noise profile")}));
  EXPECT_EQ(one.verdict, Verdict::kInconclusive);
  EXPECT_NE(text_of(one.reason)
                .find("excluded are only changes beyond ±0.07071 bit/byte (noise profile)"),
            std::string::npos)
      << text_of(one.reason);
  EXPECT_NE(text_of(one.reason).find("need at least 5 seeds"), std::string::npos)
      << text_of(one.reason);
  const TaskVerdict no_bound =
      judge_seed_test(seed_test({1.5}, {9.5}, "bit/byte", Direction::kLower));
  EXPECT_EQ(no_bound.verdict, Verdict::kInconclusive) << "without a bound nothing is gross";
}

// ChatCORE of six tasks: a share can't move by more than 1.
TEST(JudgeSeeds, WhatNoShareCanReachIsNotCalledExcluded) {
  const TaskVerdict one = judge_seed_test(
      with_noise(seed_test({.51}, {.39}, "1", Direction::kHigher), noise_of_share(.51, 6)));
  EXPECT_EQ(one.verdict, Verdict::kInconclusive);
  EXPECT_EQ(text_of(one.reason).find("excluded"), std::string::npos) << text_of(one.reason);
}

TEST(JudgeSeeds, WhatNoSeedNoiseExplainsIsRedWithOneSeed) {
  const SeedNoise noise = noise_of_profile(.0031, 10);
  const auto judge = [&](double base, double candidate) {
    return judge_seed_test(
        with_noise(seed_test({base}, {candidate}, "bit/byte", Direction::kLower), noise));
  };
  EXPECT_EQ(judge(.60, 1.41).verdict, Verdict::kRegressed);
  const TaskVerdict leak = judge(.355, .083);
  EXPECT_EQ(leak.verdict, Verdict::kSuspicious);
  EXPECT_NE(text_of(leak.reason).find("leak"), std::string::npos) << text_of(leak.reason);
  EXPECT_EQ(judge(.355, .360).verdict, Verdict::kInconclusive);
}

// Two healthy nights of suites/nightly.json, the training loss of SFT over five seeds each. Their
// spreads, .009 and .011, are small by chance: over 25 seeds it is .0415.
TEST(JudgeSeeds, GroupsThatLieCloseByChanceAreNotRedWithANoiseProfile) {
  const std::vector<double> base = {.2482, .2609, .2370, .2409, .2441};
  const auto judged = [&](double shift, const std::optional<SeedNoise>& noise, bool paired,
                          bool like_rounding = false) {
    std::vector<double> candidate = {.2804, .2534, .2755, .2797, .2784};
    for (double& value : candidate) value += shift;
    SeedTest test = seed_test(base, candidate, "nat", Direction::kLower);
    test.paired = paired;
    test.noise = noise;
    test.like_rounding = like_rounding;
    return judge_seed_test(std::move(test));
  };
  const SeedNoise profile = noise_of_profile(.0415, 25);
  EXPECT_EQ(judged(0, std::nullopt, false).verdict, Verdict::kRegressed);
  const TaskVerdict healthy = judged(0, profile, false);
  EXPECT_NE(healthy.verdict, Verdict::kRegressed) << text_of(healthy.reason);
  // .0272 is .87 standard errors of .0415 (its upper 80 % limit, .0495) · sqrt(2 / 5).
  EXPECT_NEAR(*healthy.p_worse, .20, .02) << text_of(healthy.reason);
  EXPECT_NE(text_of(healthy.reason).find("against the noise profile's spread"), std::string::npos);
  EXPECT_EQ(judged(.08, profile, false).verdict, Verdict::kRegressed) << "3.4 standard errors";
  EXPECT_EQ(judged(0, profile, true).verdict, Verdict::kRegressed) << "a profile measures no pairs";
  // Where only rounding is known to have changed, 0.005 is red, and 0.025 not green.
  const TaskVerdict doubtful = judged(0, profile, true, true);
  EXPECT_NEAR(*doubtful.p_worse_holm, .01803, 5e-5);
  EXPECT_EQ(doubtful.verdict, Verdict::kInconclusive);
  EXPECT_NE(
      text_of(doubtful.reason).find("worse, or chance: red is 0.005 or less; 10 seeds would tell"),
      std::string::npos)
      << text_of(doubtful.reason);
}

TEST(JudgeSeeds, AnAccuracyThatFallsToChanceIsRedWithOneSeed) {
  const auto judge = [](double base, double candidate, std::int64_t n) {
    return judge_seed_test(with_noise(seed_test({base}, {candidate}, "1", Direction::kHigher),
                                      noise_of_share(base, n)))
        .verdict;
  };
  EXPECT_EQ(judge(.99, .26, 180), Verdict::kRegressed);
  EXPECT_EQ(judge(1, 0, 180), Verdict::kRegressed) << "oracle against corrupted";
  EXPECT_EQ(judge(.26, .99, 180), Verdict::kSuspicious);
  EXPECT_EQ(judge(.90, .80, 180), Verdict::kInconclusive) << "seeds may do that";
}

TEST(JudgeSeeds, FourSeedsPairedAreRedWhereTheSeedsSpreadMore) {
  // The spread over seeds is .003, that of the paired differences .0003.
  const TaskVerdict four = judge_seed_test(seed_test(
      {.3551, .3520, .3570, .3533}, {.3571, .3543, .3592, .3552}, "bit/byte", Direction::kLower));
  EXPECT_EQ(four.verdict, Verdict::kRegressed) << text_of(four.reason);
  const TaskVerdict unclear = judge_seed_test(
      seed_test({1.50, 1.51, 1.49, 1.50}, {1.52, 1.50, 1.53, 1.51}, "bit/byte", Direction::kLower));
  EXPECT_EQ(unclear.verdict, Verdict::kInconclusive);
  EXPECT_NE(text_of(unclear.reason).find("80 % power"), std::string::npos)
      << text_of(unclear.reason);
}

// The last micro-batch counted twice, all five seeds worse: SD over seeds .0031, of the paired
// differences .00027 (t 5.6) and .00084 (t 7.8). Independent sides see nothing.
TEST(JudgeSeeds, FiveSeedsAllWorseAreRedWhenPaired) {
  const std::vector<double> base = {.3551, .3505, .3584, .3533, .3542};
  for (const auto& shift : {std::vector<double>{.0003, .0006, .0010, .0007, .0008},
                            std::vector<double>{.0020, .0030, .0041, .0029, .0026}}) {
    std::vector<double> worse = base;
    for (std::size_t i = 0; i < worse.size(); ++i) worse[i] += shift[i];
    const auto test = seed_test(base, worse, "bit/byte", Direction::kLower);
    EXPECT_EQ(judge_seed_test(test).verdict, Verdict::kRegressed);
    auto independent = test;
    independent.paired = false;
    EXPECT_NE(judge_seed_test(independent).verdict, Verdict::kRegressed);
  }
}

TEST(JudgeSeeds, SeedsThatDidNotChangeCountAsZero) {
  std::vector<double> worse = kBpb;
  worse[0] += .003;  // one of five moved: chance
  const TaskVerdict verdict =
      judge_seed_test(seed_test(kBpb, worse, "bit/byte", Direction::kLower));
  EXPECT_NEAR(*verdict.difference, .0006, 1e-12);
  EXPECT_NE(verdict.verdict, Verdict::kRegressed);
}

TEST(JudgeSeeds, DirectionDecides) {
  std::vector<double> worse = kBpb, better = kBpb;
  const double jitter[] = {0, 1e-5, -1e-5, 2e-5, 0};
  for (std::size_t i = 0; i < kBpb.size(); ++i) {
    worse[i] += .003 + jitter[i];
    better[i] -= .0007 + jitter[i];
  }
  EXPECT_EQ(judge_seed_test(seed_test(kBpb, worse, "bit/byte", Direction::kLower)).verdict,
            Verdict::kRegressed);
  EXPECT_EQ(judge_seed_test(seed_test(kBpb, better, "bit/byte", Direction::kLower)).verdict,
            Verdict::kImproved);
  EXPECT_EQ(judge_seed_test(seed_test(worse, kBpb, "bit/byte", Direction::kHigher)).verdict,
            Verdict::kRegressed);
}

TEST(JudgeSeeds, TooGoodIsSuspicious) {
  std::vector<double> leaked = kBpb;
  for (double& v : leaked) v -= .05 + .01 * (v - 1.88);
  const TaskVerdict verdict =
      judge_seed_test(seed_test(kBpb, leaked, "bit/byte", Direction::kLower));
  EXPECT_EQ(verdict.verdict, Verdict::kSuspicious);
  EXPECT_NE(text_of(verdict.reason).find("leak"), std::string::npos);
}

// Weight decay on embeddings and a loader that repeats its first group were "IMPROVED, accept as a
// new baseline?" with five seeds: better than the profile's spread without a changed setting.
TEST(JudgeSeeds, BetterThanTheCardsSpreadWithoutAChangedSettingIsSuspicious) {
  const std::vector<double> base = {.3551, .3505, .3584, .3533, .3542};
  const auto judged = [&](double gain, bool unexplained) {
    std::vector<double> better = base;
    const double jitter[] = {0, 1e-4, -1e-4, 2e-4, 0};
    for (std::size_t i = 0; i < better.size(); ++i) better[i] -= gain + jitter[i];
    SeedTest test = seed_test(base, better, "bit/byte", Direction::kLower);
    test.noise = noise_of_profile(.0031, 30);
    test.unexplained = unexplained;
    return judge_seed_test(std::move(test));
  };
  // Three standard errors: 3 · .0035 (the profile's upper 80 % limit) · √(2/5) = .0066.
  EXPECT_EQ(judged(.008, true).verdict, Verdict::kSuspicious);
  EXPECT_NE(text_of(judged(.008, true).reason).find("no setting was changed"), std::string::npos);
  EXPECT_EQ(judged(.008, false).verdict, Verdict::kImproved);
  EXPECT_EQ(judged(.004, true).verdict, Verdict::kImproved) << "sure, and within the seeds' spread";
}

TEST(JudgeSeeds, DifferencesBelowTheFloorAreNeverRed) {
  std::vector<double> base = {1, 1.00001, 1.00002, 1.00001, 1}, worse = base;
  const double jitter[] = {0, 1e-6, -1e-6, 2e-6, 0};
  for (std::size_t i = 0; i < 5; ++i)
    worse[i] += .0003 + jitter[i];  // certain, but under .0005 bit/byte
  EXPECT_EQ(judge_seed_test(seed_test(base, worse, "bit/byte", Direction::kLower)).verdict,
            Verdict::kPass);
}

// Healthy nights, simulated: ten metrics of two groups of seeds, as in splits of 20 healthy seeds.
// Values of one seed are correlated, as the metrics of one model are.
TEST(JudgeSeeds, HealthySplitsAreRarelyRedAndMostlyTold) {
  constexpr int kNights = 100, kMetrics = 10;
  for (const bool paired : {false, true}) {
    for (const int seeds : {5, 10}) {
      int red = 0, unclear = 0;
      for (int night = 0; night < kNights; ++night) {
        const Rng rng(7, "healthy", static_cast<std::uint64_t>(night));
        std::uint64_t draw = 0;
        const auto normal = [&] { return rng.normal(draw++); };
        std::vector<SeedTest> family;
        std::vector<double> common_a, common_b;
        for (int i = 0; i < seeds; ++i) {
          common_a.push_back(normal());
          common_b.push_back(normal());
        }
        for (int metric = 0; metric < kMetrics; ++metric) {
          std::vector<double> a, b;
          for (int i = 0; i < seeds; ++i) {
            a.push_back(.355 + .0022 * (common_a[static_cast<std::size_t>(i)] + normal()));
            b.push_back(.355 + .0022 * (common_b[static_cast<std::size_t>(i)] + normal()));
          }
          SeedTest test = seed_test(a, b, "bit/byte", Direction::kLower, paired);
          test.noise = noise_of_seeds(a, "bit/byte", 0);
          family.push_back(std::move(test));
        }
        judge_seeds(family, {});
        bool any_red = false, any_unclear = false;
        for (const SeedTest& test : family) {
          const Verdict v = test.verdict.verdict;
          any_red |= v == Verdict::kRegressed || v == Verdict::kSuspicious;
          any_unclear |= v == Verdict::kInconclusive;
        }
        red += any_red ? 1 : 0;
        unclear += !any_red && any_unclear ? 1 : 0;
      }
      EXPECT_LE(red, kNights * .09) << "nominal .05 and two standard errors; "
                                    << (paired ? "paired, " : "independent, ") << seeds;
      EXPECT_LE(unclear, kNights * .5) << (paired ? "paired, " : "independent, ") << seeds;
    }
  }
}

TEST(JudgeExact, AnyDifferenceIsAChange) {
  const auto judge = [](double base, double candidate, Direction direction) {
    TaskVerdict verdict;
    judge_exact(verdict, base, candidate, direction, "ns");
    return verdict;
  };
  EXPECT_EQ(judge(100, 100, Direction::kLower).verdict, Verdict::kPass);
  EXPECT_EQ(judge(1e12, 1e12 + 1, Direction::kLower).verdict, Verdict::kRegressed);
  EXPECT_NE(text_of(judge(1e12, 1e12 + 1, Direction::kLower).reason).find("1000000000001 ns"),
            std::string::npos)
      << text_of(judge(1e12, 1e12 + 1, Direction::kLower).reason);
  EXPECT_EQ(judge(100, 99, Direction::kLower).verdict, Verdict::kImproved);
  EXPECT_EQ(judge(100, 99, Direction::kHigher).verdict, Verdict::kRegressed);
  EXPECT_EQ(judge(100, 99, Direction::kNone).verdict, Verdict::kInconclusive);
}

}  // namespace
}  // namespace nb
