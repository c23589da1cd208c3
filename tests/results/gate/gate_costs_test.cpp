// Simulated costs of trainings with RL, whose batches are what the model wrote.

#include "results/gate/gate_costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "results/gate/gate.hpp"
#include "results/gate/noise_profile.hpp"
#include "results/store/metric_names.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/verdict_with.hpp"

namespace nb {
namespace {

using test::FakeRun;
using test::metric_of;
using test::verdict_with;

// A training of `stage` that took `tokens` tokens at `rate` tokens per simulated second.
void add_stage(FakeRun& run, std::int64_t seed, const std::string& stage, double tokens,
               double rate, double memory = 1e9) {
  run.add_training("ascend_910b3", seed, 1.5, 1e-9 * tokens, [&](Record& record) {
    *record.settings = Json::object({{"stage", stage}});
    record.metrics = {
        metric_of(metric::kTokens, tokens, "token", Direction::kNone),
        metric_of(metric::kThroughput, rate, "tok/s", Direction::kHigher, Clock::kSim),
        metric_of(metric::kTrainTime, tokens / rate, "ns", Direction::kLower, Clock::kSim),
        metric_of(metric::kPeakMemory, memory, "byte", Direction::kLower, Clock::kSim)};
  });
}

// Five seeds; their tokens and rates differ as those of rollouts do.
void add_five(FakeRun& run, std::int64_t first_seed, const std::string& stage, double faster = 1,
              double longer = 0, std::int64_t order = 3) {
  for (std::int64_t i = 0; i < 5; ++i) {
    const double apart = static_cast<double>((i * order) % 5);
    add_stage(run, first_seed + i, stage, 580000 + 900 * apart + longer,
              faster * (16700 + 60 * apart));
  }
}

bool is_judged(const GateResult& result, const std::string& metric) {
  return std::ranges::any_of(result.verdicts, [&](const auto& v) { return v.metric == metric; });
}

bool notes_that_tokens_differ(const GateResult& result) {
  return std::ranges::any_of(texts_of(result.notes), [](const std::string& note) {
    return note.find("different numbers of tokens") != std::string::npos;
  });
}

// Found on healthy nights of other seeds: every second one was red, by the length of its answers.
TEST(GateCosts, LongerAnswersOfAHealthyNightAreNotRed) {
  for (const std::int64_t first_seed : {1, 6}) {  // paired by seed, and as groups
    FakeRun base, longer;
    add_five(base, 1, "rl");
    add_five(longer, first_seed, "rl", .9999, 700, 2);
    for (const bool is_reversed : {false, true}) {
      const GateResult result =
          is_reversed ? gate(longer.read(), base.read()) : gate(base.read(), longer.read());
      EXPECT_EQ(result.exit_code, 0) << gate_text(result);
      EXPECT_EQ(verdict_with(result, metric::kThroughput).test, "seeds");
      const bool as_groups =
          text_of(verdict_with(result, metric::kThroughput).reason).find("against 5 others") !=
          std::string::npos;
      EXPECT_EQ(as_groups, first_seed == 6) << gate_text(result);
      EXPECT_FALSE(is_judged(result, metric::kTrainTime)) << "it goes with the tokens";
      EXPECT_EQ(verdict_with(result, metric::kPeakMemory).verdict, Verdict::kPass) << "equal";
      EXPECT_TRUE(notes_that_tokens_differ(result)) << gate_text(result);
    }
  }
}

// Found among random groups of 25 healthy seeds of suites/nightly.json: five that lay close, and
// five others below them. A noise profile of those seeds knows how far they spread.
TEST(GateCosts, GroupsOfSeedsThatLieCloseByChanceAreNotRed) {
  const std::vector<double> rates = {16475, 16990, 17275, 16476, 17186, 17211, 16567, 16915, 17398,
                                     16783, 16619, 17037, 16458, 16818, 16978, 17360, 16668, 16817,
                                     16735, 16545, 16955, 16714, 16894, 16966, 16809};
  const auto add = [&](FakeRun& run, const std::vector<std::int64_t>& seeds, double faster) {
    for (const std::int64_t seed : seeds)
      add_stage(run, seed, "rl", 560000 + 100 * static_cast<double>(seed),
                faster * rates.at(static_cast<std::size_t>(seed - 1)));
  };
  FakeRun every("nightly"), close("nightly"), below("nightly"), slower("nightly");
  std::vector<std::int64_t> all(rates.size());
  std::iota(all.begin(), all.end(), 1);
  add(every, all, 1);
  add(close, {8, 10, 21, 23, 25}, 1);
  add(below, {1, 7, 17, 20, 22}, 1);
  add(slower, {1, 7, 17, 20, 22}, .95);
  const std::vector<RunRecords> runs = {every.read()};
  const auto profile = calibrate(runs);
  ASSERT_TRUE(profile) << profile.error().message;
  GatePolicy policy;
  apply(*profile, policy);
  const auto spread = policy.spread_of("train base on ascend_910b3", metric::kThroughput);
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->seeds, 25);
  EXPECT_NEAR(spread->sd, 274.8, .5);
  EXPECT_FALSE(policy.spread_of("train base on ascend_910b3", metric::kTrainTime));
  FakeRun sft("nightly");
  add_five(sft, 1, "sft");
  const std::vector<RunRecords> of_sft = {sft.read()};
  const auto sft_card = calibrate(of_sft);
  ASSERT_TRUE(!sft_card || sft_card->metrics.empty()) << "its costs do not follow from answers";
  const GateResult healthy = gate(close.read(), below.read(), policy);
  EXPECT_EQ(healthy.exit_code, 0) << gate_text(healthy);
  EXPECT_EQ(verdict_with(healthy, metric::kThroughput).verdict, Verdict::kPass);
  const GateResult red = gate(close.read(), slower.read(), policy);
  EXPECT_EQ(red.exit_code, 1) << gate_text(red);
  EXPECT_EQ(verdict_with(red, metric::kThroughput).verdict, Verdict::kRegressed);
}

TEST(GateCosts, ASlowerGenerationIsRed) {
  for (const std::int64_t first_seed : {1, 6}) {
    FakeRun base, slower;
    add_five(base, 1, "rl");
    add_five(slower, first_seed, "rl", .9, 700);
    const GateResult result = gate(base.read(), slower.read());
    EXPECT_EQ(result.exit_code, 1) << gate_text(result);
    EXPECT_EQ(verdict_with(result, metric::kThroughput).verdict, Verdict::kRegressed);
  }
}

TEST(GateCosts, PeakMemoryIsRedOnlyBeyondWhatTheLongestAnswersExplain) {
  const auto night = [](FakeRun& run, std::int64_t first_seed, double memory) {
    for (std::int64_t i = 0; i < 5; ++i)
      add_stage(run, first_seed + i, "rl",
                580000 + 900 * static_cast<double>((i * 3) % 5) + static_cast<double>(first_seed),
                16700 + 60 * static_cast<double>((i * 3) % 5), memory);
  };
  FakeRun base, shorter, doubled, halved;
  night(base, 1, 40.6e6);
  night(halved, 6, 20.3e6);
  night(shorter, 6, 40.1e6);
  night(doubled, 6, 81.2e6);
  EXPECT_EQ(gate(base.read(), shorter.read()).exit_code, 0)
      << gate_text(gate(base.read(), shorter.read()));
  const GateResult red = gate(base.read(), doubled.read());
  EXPECT_EQ(red.exit_code, 1) << gate_text(red);
  EXPECT_EQ(verdict_with(red, metric::kPeakMemory).verdict, Verdict::kRegressed);
  const GateResult cheap = gate(base.read(), halved.read());
  EXPECT_EQ(verdict_with(cheap, metric::kPeakMemory).verdict, Verdict::kSuspicious);
  EXPECT_NE(text_of(verdict_with(cheap, metric::kPeakMemory).reason)
                .find("cheaper than this recipe can be"),
            std::string::npos);
}

TEST(GateCosts, EqualWorkIsJudgedExactly) {
  FakeRun base, slower;
  add_stage(base, 1, "rl", 580000, 16700);
  add_stage(slower, 1, "rl", 580000, 16699);
  const GateResult result = gate(base.read(), slower.read());
  EXPECT_EQ(result.exit_code, 1) << gate_text(result);
  EXPECT_EQ(verdict_with(result, metric::kThroughput).test, "exact");
  EXPECT_FALSE(notes_that_tokens_differ(result));
}

TEST(GateCosts, AnotherRecipeIsNoOtherLengthOfAnswers) {
  const auto asked = [](FakeRun& run, int samples, double tokens) {
    run.add_training("ascend_910b3", 1, 1.5, 1e-9 * tokens, [&](Record& record) {
      *record.settings = {{"stage", "rl"}, {"rl", {{"num_samples", samples}, {"seed", samples}}}};
      record.metrics = {
          metric_of(metric::kTokens, tokens, "token", Direction::kNone),
          metric_of(metric::kTrainTime, tokens, "ns", Direction::kLower, Clock::kSim)};
    });
  };
  FakeRun base, doubled;
  asked(base, 8, 580000);
  asked(doubled, 16, 1160000);
  const GateResult result = gate(base.read(), doubled.read());
  EXPECT_EQ(result.exit_code, 1) << gate_text(result);
  EXPECT_EQ(verdict_with(result, metric::kTrainTime).verdict, Verdict::kRegressed);
}

TEST(GateCosts, OtherBatchesOfAnyOtherStageStayExact) {
  FakeRun base, other;
  add_five(base, 1, "sft");
  add_five(other, 1, "sft", .9999, 700);
  const GateResult result = gate(base.read(), other.read());
  EXPECT_EQ(result.exit_code, 1) << gate_text(result);
  EXPECT_EQ(verdict_with(result, metric::kThroughput).test, "exact");
  EXPECT_EQ(verdict_with(result, metric::kTrainTime).verdict, Verdict::kRegressed);
}

// compare, of one pair: the same costs have no direction there, but for those that are equal.
TEST(GateCosts, ComparedCostsOfOtherAnswersHaveNoDirection) {
  FakeRun base, other, slower;
  add_stage(base, 1, "rl", 580000, 16700);
  add_stage(other, 1, "rl", 580700, 16690);
  add_stage(slower, 1, "rl", 580000, 16690);
  const RunRecords a = base.read(), b = other.read(), c = slower.read();
  const auto shown = [](const RunRecords& left, const RunRecords& right, const char* name) {
    const Comparison comparison = compare_runs(left, right);
    for (const MetricDifference& row : comparison.pairs.at(0).metrics)
      if (row.name == name) return row.shown;
    return Shown::kNotShown;
  };
  EXPECT_EQ(shown(a, b, metric::kThroughput), Shown::kNothing);
  EXPECT_EQ(shown(a, b, metric::kPeakMemory), Shown::kEqual);
  EXPECT_EQ(shown(a, c, metric::kThroughput), Shown::kWorse);
  const std::string words = "different numbers of tokens: simulated costs go with them";
  EXPECT_NE(comparison_text(compare_runs(a, b)).find(words), std::string::npos);
  EXPECT_EQ(comparison_text(compare_runs(a, c)).find(words), std::string::npos);
}

TEST(GateCosts, OneSeedCannotTell) {
  FakeRun base, other;
  add_stage(base, 1, "rl", 580000, 16700);
  add_stage(other, 1, "rl", 580700, 16690);
  const GateResult result = gate(base.read(), other.read());
  EXPECT_EQ(result.exit_code, 0) << gate_text(result);
  EXPECT_EQ(verdict_with(result, metric::kThroughput).verdict, Verdict::kInconclusive);
}

}  // namespace
}  // namespace nb
