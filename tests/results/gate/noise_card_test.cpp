#include "results/gate/noise_card.hpp"

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

const std::vector<double> kCardBpb = {1.8830, 1.8835, 1.8826, 1.8829, 1.8833};

// Five seeds, 200 items of one checkpoint; `flips` of them the other way.
void fill_healthy(FakeRun& run, int flips) {
  for (std::size_t i = 0; i < kCardBpb.size(); ++i)
    run.add_training("ascend_910b3", static_cast<std::int64_t>(i) + 1, kCardBpb[i]);
  run.add_evaluation(
      "ascend_910b3", 1, "w",
      {{"mw/facts", 200, [flips](int i) { return i < flips ? !even(i) : even(i); }}});
}

TEST(NoiseCard, RoundTripsIntoTheMarginsOfAGate) {
  FakeRun first("nightly"), second("nightly"), third("nightly");
  fill_healthy(first, 0);
  fill_healthy(second, 4);
  fill_healthy(third, 0);
  const std::vector<RunRecords> runs = {first.read(), second.read(), third.read()};
  const auto card = calibrate(runs);
  ASSERT_TRUE(card) << card.error().message;
  ASSERT_EQ(card->tasks.size(), 1U);
  EXPECT_EQ(card->tasks[0].flips, 8);
  EXPECT_EQ(card->tasks[0].items, 400);
  EXPECT_DOUBLE_EQ(card->tasks[0].discordance, .02);
  EXPECT_EQ(card->suite, "nightly");
  EXPECT_EQ(card->devices, std::vector<std::string>{"ascend_910b3"});
  EXPECT_EQ(card->sources.size(), 3U);
  const CardMetric* bpb = nullptr;
  for (const CardMetric& metric : card->metrics)
    if (metric.metric == "val_bpb") bpb = &metric;
  ASSERT_NE(bpb, nullptr);
  EXPECT_EQ(bpb->seeds, 5);
  EXPECT_NEAR(bpb->sd, sample_sd(kCardBpb), 1e-15);
  EXPECT_NEAR(bpb->upper80 / bpb->sd, 1.56, .005);

  const TempDir dir;
  ASSERT_TRUE(write_json(dir / "card.json", print_struct(*card)));
  ASSERT_TRUE(write_file(dir / "policy.json", "{\"noise_card\": \"card.json\"} // beside it\n"));
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

TEST(NoiseCard, LeavesOutWhatOneStepDecides) {
  FakeRun run("nightly");
  for (std::int64_t seed = 1; seed <= 5; ++seed)
    run.add_training("ascend_910b3", seed, 1.5, 1e-9, [&](Record& record) {
      const double value = 1 + .01 * static_cast<double>(seed);
      record.metrics = {
          test::metric_of("of_steps", value, "nat", Direction::kLower, Clock::kNone, 60),
          test::metric_of("of_one", value, "nat", Direction::kLower, Clock::kNone, 1)};
    });
  const std::vector<RunRecords> runs = {run.read()};
  const auto card = calibrate(runs);
  ASSERT_TRUE(card) << card.error().message;
  ASSERT_EQ(card->metrics.size(), 1U);
  EXPECT_EQ(card->metrics[0].metric, "of_steps");
}

// The suite was changed, its card was not: its seeds lie elsewhere.
TEST(NoiseCard, OneOfAnotherRecipeIsNotUsed) {
  GatePolicy policy;
  NoiseCard card;
  card.metrics = {{"train base on ascend_910b3", "val_bpb", "bit/byte", 25, 1.5, .01, .012}};
  apply(card, policy);
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
  EXPECT_EQ(own.exit_code, 0) << gate_text(own) << "a fifth of the card's SD";
  EXPECT_EQ(other.exit_code, 1) << gate_text(other) << "20 SD of the baseline's seeds";
  const auto says_so = [](const GateResult& result) {
    return gate_text(result).find("the noise card is of another recipe") != std::string::npos;
  };
  EXPECT_TRUE(says_so(other)) << gate_text(other);
  EXPECT_FALSE(says_so(own)) << gate_text(own);
}

// Five seeds that were asked for this rate.
void fill_with_rate(FakeRun& run, double rate, std::int64_t first_seed) {
  for (std::int64_t i = 0; i < 5; ++i)
    run.add_training("ascend_910b3", first_seed + i, kCardBpb[static_cast<std::size_t>(i)], 0,
                     [&](Record& record) {
                       *record.settings = {{"base", {{"rate", rate}, {"seed", *record.seed}}},
                                           {"seed", *record.seed}};
                     });
}

TEST(NoiseCard, TheGateNamesWhatTheCardWasMeasuredWithInstead) {
  FakeRun slow("nightly"), slow_again("nightly"), fast("nightly"), fast_again("nightly");
  fill_with_rate(slow, .1, 1);
  fill_with_rate(slow_again, .1, 6);
  fill_with_rate(fast, .2, 11);
  fill_with_rate(fast_again, .2, 16);
  const std::vector<RunRecords> runs = {slow.read()};
  const auto card = calibrate(runs);
  ASSERT_TRUE(card) << card.error().message;
  const auto copy = parse_struct<NoiseCard>(print_struct(*card), "card");
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
                "ALERT: the noise card was measured with other settings than the baseline's: "
                "/settings/base/rate 0.1, not 0.2, in train base on ascend_910b3; its spreads are "
                "used where their means agree; make it anew with gate calibrate"}));
  EXPECT_EQ(std::ranges::count(texts_of(other.notes),
                               "the noise card was measured with /settings/base/rate 0.1, the "
                               "baseline has 0.2: train base on ascend_910b3"),
            1);
  const std::string text = gate_text(other);
  EXPECT_LT(text.find("the noise card was measured with other settings"),
            text.find("train base on ascend_910b3\n"))
      << "above the tables: " << text;
}

TEST(NoiseCard, IsMadeOfOneRecipe) {
  FakeRun slow("nightly"), fast("nightly");
  fill_with_rate(slow, .1, 1);
  fill_with_rate(fast, .2, 6);
  const std::vector<RunRecords> runs = {slow.read(), fast.read()};
  const auto card = calibrate(runs);
  ASSERT_FALSE(card);
  EXPECT_EQ(card.error().message,
            "calibrate: train base on ascend_910b3, seed 6 of " + runs[1].path.string() +
                ": /settings/base/rate is 0.2, and 0.1 in " + runs[0].path.string() +
                "; a card is made of runs with the same settings");
}

TEST(NoiseCard, APolicysOwnValuesCountFirst) {
  NoiseCard card;
  card.tasks = {{"eval x on d", "t", 1, 100, 5, .05}};
  GatePolicy policy;
  policy.card_discordance["eval x on d: t"] = .01;
  apply(card, policy);
  EXPECT_EQ(policy.discordance_of("eval x on d", "t"), .01);
}

TEST(NoiseCard, RefusesWhatMeasuresNoNoise) {
  FakeRun run("nightly"), failed("nightly"), single("nightly");
  fill_healthy(run, 0);
  const auto refused = [](const std::vector<RunRecords>& runs) {
    const auto card = calibrate(runs);
    return card ? std::string("a card") : card.error().message;
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
  ASSERT_TRUE(write_file(dir / "card.json", "{\"schema\": \"npubench.card/2\", \"tasks\": []}"));
  EXPECT_FALSE(read_noise_card(dir / "card.json"));
  ASSERT_TRUE(write_file(dir / "policy.json", "{\"noise_kard\": \"card.json\"}"));
  const auto policy = read_policy(dir / "policy.json");
  ASSERT_FALSE(policy);
  EXPECT_NE(policy.error().message.find("did you mean \"noise_card\"?"), std::string::npos);
}

}  // namespace
}  // namespace nb
