#include "results/gate/noise_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/gate/gate.hpp"
#include "results/stats/stats.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;
using test::TempDir;

const std::vector<double> kNoiseBpb = {1.8830, 1.8835, 1.8826, 1.8829, 1.8833};

// Five seeds, 200 items of one checkpoint; `flips` of them the other way.
void fill_healthy(FakeRun& run, int flips) {
  for (std::size_t i = 0; i < kNoiseBpb.size(); ++i)
    run.add_training("ascend_910b3", static_cast<std::int64_t>(i) + 1, kNoiseBpb[i]);
  run.add_evaluation(
      "ascend_910b3", 1, "w",
      {{"mw/facts", 200, [flips](int i) { return i < flips ? !even(i) : even(i); }}});
}

TEST(NoiseProfile, RoundTripsIntoTheMarginsOfAGate) {
  FakeRun first("nightly"), second("nightly"), third("nightly");
  fill_healthy(first, 0);
  fill_healthy(second, 4);
  fill_healthy(third, 0);
  const std::vector<RunRecords> runs = {first.read(), second.read(), third.read()};
  const auto profile = calibrate(runs);
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->tasks.size(), 1U);
  EXPECT_EQ(profile->tasks[0].flips, 8);
  EXPECT_EQ(profile->tasks[0].items, 400);
  EXPECT_DOUBLE_EQ(profile->tasks[0].discordance, .02);
  EXPECT_EQ(profile->suite, "nightly");
  EXPECT_EQ(profile->devices, std::vector<std::string>{"ascend_910b3"});
  EXPECT_EQ(profile->sources.size(), 3U);
  const NoiseMetric* bpb = nullptr;
  for (const NoiseMetric& metric : profile->metrics)
    if (metric.metric == "val_bpb") bpb = &metric;
  ASSERT_NE(bpb, nullptr);
  EXPECT_EQ(bpb->seeds, 5);
  EXPECT_NEAR(bpb->sd, sample_sd(kNoiseBpb), 1e-15);
  EXPECT_NEAR(bpb->upper80 / bpb->sd, 1.56, .005);

  const TempDir dir;
  ASSERT_TRUE(write_json(dir / "noise.json", print_struct(*profile)));
  ASSERT_TRUE(
      write_file(dir / "policy.json", "{\"noise_profile\": \"noise.json\"} // beside it\n"));
  const auto policy = read_policy(dir / "policy.json");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->discordance_of("eval base.core on ascend_910b3", "mw/facts"), .02);
  EXPECT_FALSE(policy->discordance_of("eval base.core on h100_sxm", "mw/facts"))
      << "measured on another device";
  const auto spread = policy->spread_of("train base on ascend_910b3", "val_bpb");
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->seeds, 5);

  FakeRun tonight("nightly");
  fill_healthy(tonight, 2);
  const GateResult night = gate(first.read(), tonight.read(), *policy);
  for (const TaskVerdict& v : night.verdicts)
    if (v.test == "items") {
      EXPECT_FALSE(v.uncalibrated);
      EXPECT_NEAR(*v.margin, 3.3 * std::sqrt(.02 / 200), 1e-12);
    }
  EXPECT_FALSE(night.uncalibrated) << gate_text(night);
}

TEST(NoiseProfile, LeavesOutWhatOneStepDecides) {
  FakeRun run("nightly");
  for (std::int64_t seed = 1; seed <= 5; ++seed)
    run.add_training("ascend_910b3", seed, 1.5, 1e-9, [&](Record& record) {
      const double value = 1 + .01 * static_cast<double>(seed);
      record.metrics = {
          test::metric_of("of_steps", value, "nat", Direction::kLower, Clock::kNone, 60),
          test::metric_of("of_one", value, "nat", Direction::kLower, Clock::kNone, 1)};
    });
  const std::vector<RunRecords> runs = {run.read()};
  const auto profile = calibrate(runs);
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->metrics.size(), 1U);
  EXPECT_EQ(profile->metrics[0].metric, "of_steps");
}

// The suite was changed, its profile was not: its seeds lie elsewhere.
TEST(NoiseProfile, OneOfAnotherRecipeIsNotUsed) {
  GatePolicy policy;
  NoiseProfile profile;
  profile.metrics = {{"train base on ascend_910b3", "val_bpb", "bit/byte", 25, 1.5, .01, .012}};
  apply(profile, policy);
  const auto gated = [&](double bpb) {
    FakeRun base("nightly"), worse("nightly");
    for (std::int64_t i = 0; i < 5; ++i) {
      const double apart = .0001 * static_cast<double>(i);
      base.add_training("ascend_910b3", 1 + i, bpb + apart);
      worse.add_training("ascend_910b3", 6 + i, bpb + .002 + apart);
    }
    return gate(base.read(), worse.read(), policy);
  };
  const GateResult own = gated(1.52), other = gated(2.5);
  EXPECT_EQ(own.exit_code, 0) << gate_text(own) << "a fifth of the profile's SD";
  EXPECT_EQ(other.exit_code, 1) << gate_text(other) << "20 SD of the baseline's seeds";
  const auto says_so = [](const GateResult& result) {
    return gate_text(result).find("the noise profile is of another recipe") != std::string::npos;
  };
  EXPECT_TRUE(says_so(other)) << gate_text(other);
  EXPECT_FALSE(says_so(own)) << gate_text(own);
}

// Five seeds that were asked for this rate.
void fill_with_rate(FakeRun& run, double rate, std::int64_t first_seed) {
  for (std::int64_t i = 0; i < 5; ++i)
    run.add_training("ascend_910b3", first_seed + i, kNoiseBpb[static_cast<std::size_t>(i)], 0,
                     [&](Record& record) {
                       *record.settings = {{"base", {{"rate", rate}, {"seed", *record.seed}}},
                                           {"seed", *record.seed}};
                     });
}

TEST(NoiseProfile, TheGateNamesWhatTheCardWasMeasuredWithInstead) {
  FakeRun slow("nightly"), slow_again("nightly"), fast("nightly"), fast_again("nightly");
  fill_with_rate(slow, .1, 1);
  fill_with_rate(slow_again, .1, 6);
  fill_with_rate(fast, .2, 11);
  fill_with_rate(fast_again, .2, 16);
  const std::vector<RunRecords> runs = {slow.read()};
  const auto profile = calibrate(runs);
  ASSERT_TRUE(profile) << profile.error().message;
  const auto copy = parse_struct<NoiseProfile>(print_struct(*profile), "profile");
  ASSERT_TRUE(copy) << copy.error().message;
  GatePolicy policy;
  apply(*copy, policy);
  const auto night = [&](const FakeRun& base, const FakeRun& tonight) {
    return gate(base.read(), tonight.read(), policy);
  };
  EXPECT_TRUE(night(slow, slow_again).alerts.empty()) << "other seeds are no difference";
  EXPECT_TRUE(night(slow, fast).alerts.empty()) << "the baseline is what it was made of";
  const GateResult other = night(fast, fast_again);
  EXPECT_EQ(texts_of(other.alerts),
            (std::vector<std::string>{
                "ALERT: the noise profile was measured with other settings than the baseline's: "
                "/settings/base/rate 0.1, not 0.2, in train base on ascend_910b3; its spreads are "
                "used where their means agree; make it anew with gate calibrate"}));
  EXPECT_EQ(std::ranges::count(texts_of(other.notes),
                               "the noise profile was measured with /settings/base/rate 0.1, the "
                               "baseline has 0.2: train base on ascend_910b3"),
            1);
  const std::string text = gate_text(other);
  EXPECT_LT(text.find("the noise profile was measured with other settings"),
            text.find("train base on ascend_910b3\n"))
      << "above the tables: " << text;
}

TEST(NoiseProfile, IsMadeOfOneRecipe) {
  FakeRun slow("nightly"), fast("nightly");
  fill_with_rate(slow, .1, 1);
  fill_with_rate(fast, .2, 6);
  const std::vector<RunRecords> runs = {slow.read(), fast.read()};
  const auto profile = calibrate(runs);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().message,
            "calibrate: train base on ascend_910b3, seed 6 of " + runs[1].path.string() +
                ": /settings/base/rate is 0.2, and 0.1 in " + runs[0].path.string() +
                "; a profile is made of runs with the same settings");
}

TEST(NoiseProfile, APolicysOwnValuesCountFirst) {
  NoiseProfile profile;
  profile.tasks = {{"eval x on d", "t", 1, 100, 5, .05}};
  GatePolicy policy;
  policy.noise_discordance["eval x on d: t"] = .01;
  apply(profile, policy);
  EXPECT_EQ(policy.discordance_of("eval x on d", "t"), .01);
}

// As "noise_profile" they were called before; both names at once are refused.
TEST(NoiseProfile, ItsFormerNamesAreRead) {
  const TempDir dir;
  NoiseProfile profile;
  profile.schema = "npubench.card/1";
  profile.tasks = {{"eval x on d", "t", 1, 100, 5, .05}};
  ASSERT_TRUE(write_json(dir / "card.json", print_struct(profile)));
  ASSERT_TRUE(write_file(dir / "old.json", R"({"noise_card": "card.json", "card_sd": {"m": 2}})"));
  const auto policy = read_policy(dir / "old.json");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->discordance_of("eval x on d", "t"), .05);
  EXPECT_EQ(policy->spread_of("train base on d", "m")->sd, 2);
  ASSERT_TRUE(write_file(dir / "both.json", R"({"card_seeds": 5, "noise_seeds": 5})"));
  const auto both = read_policy(dir / "both.json");
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().message.find(
                "/card_seeds: a former name of \"noise_seeds\", which is given too; leave one out"),
            std::string::npos)
      << both.error().message;
}

TEST(NoiseProfile, RefusesWhatMeasuresNoNoise) {
  FakeRun run("nightly"), failed("nightly"), single("nightly");
  fill_healthy(run, 0);
  const auto refused = [](const std::vector<RunRecords>& runs) {
    const auto profile = calibrate(runs);
    return profile ? std::string("a profile") : profile.error().message;
  };
  EXPECT_NE(refused({run.read(), run.read()}).find("is given twice"), std::string::npos);
  failed.add_training("ascend_910b3", 1, 1.5, 0, [](Record& record) {
    record.status = "failed";
    record.error = "out of memory";
  });
  EXPECT_NE(refused({failed.read()}).find("failed"), std::string::npos);
  single.add_training("ascend_910b3", 1, 1.5);
  EXPECT_NE(refused({single.read()}).find("nothing to measure"), std::string::npos);
  const TempDir dir;
  ASSERT_TRUE(
      write_file(dir / "noise.json", "{\"schema\": \"npubench.profile/2\", \"tasks\": []}"));
  EXPECT_FALSE(read_noise_profile(dir / "noise.json"));
  ASSERT_TRUE(write_file(dir / "policy.json", "{\"noise_profle\": \"noise.json\"}"));
  const auto policy = read_policy(dir / "policy.json");
  ASSERT_FALSE(policy);
  EXPECT_NE(policy.error().message.find("did you mean \"noise_profile\"?"), std::string::npos);
}

}  // namespace
}  // namespace nb
