#include "results/compare/factorial.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;
using test::metric_of;

// tests/golden/main_effects.py: least squares in fractions, quantiles and bounds by search.
const Json& effect_cases() {
  static const Json json =
      *read_json(std::string(NB_SOURCE_DIR) + "/tests/golden/main_effects.json");
  return json.at("cases");
}

void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 1e-9 * std::max(1.0, std::fabs(expected))) << what;
}

void expect_interval(const std::optional<Interval>& interval, const Json& json, const char* key,
                     const std::string& what) {
  const bool is_there = json.contains(key) && !json.at(key).is_null();
  ASSERT_EQ(interval.has_value(), is_there) << what << " " << key;
  if (!is_there) return;
  expect_near(interval->low, json.at(key)[0], what + " low");
  expect_near(interval->high, json.at(key)[1], what + " high");
}

void expect_estimate(const EffectEstimate& one, const Json& json, const std::string& what) {
  expect_near(one.value, json.at("value"), what);
  ASSERT_TRUE(one.share) << what;
  expect_near(*one.share, json.at("share"), what + " share");
  expect_interval(one.interval95, json, "interval95", what);
  expect_interval(one.share95, json, "share95", what);
}

TEST(MainEffects, EqualLeastSquaresInFractions) {
  for (const Json& row : effect_cases()) {
    const auto levels = row.at("levels").get<std::vector<std::vector<bool>>>();
    const EffectTable table =
        main_effects(levels, row.at("values").get<std::vector<std::vector<double>>>());
    const std::string name = row.at("name");
    expect_near(table.low, row.at("low"), name);
    expect_near(table.high, row.at("high"), name);
    EXPECT_EQ(table.df, row.at("df").get<double>()) << name;
    if (row.contains("sd")) expect_near(table.sd, row.at("sd"), name + " sd");
    expect_near(table.gap.value, row.at("gap").at("value"), name + " gap");
    expect_interval(table.gap.interval95, row.at("gap"), "interval95", name + " gap");
    for (std::size_t i = 0; i < table.effects.size(); ++i) {
      const std::string key = "effect" + std::to_string(i);
      expect_estimate(table.effects[i], row.at(key), name + " " + key);
    }
    expect_estimate(table.rest, row.at("rest"), name + " rest");
  }
}

TEST(MainEffects, AliasesAreTheSetsOfFactorsWithOneProduct) {
  for (const Json& row : effect_cases()) {
    const auto aliases = alias_structure(row.at("levels").get<std::vector<std::vector<bool>>>());
    EXPECT_EQ(Json(aliases.words), row.at("words")) << row.at("name");
  }
}

// The design of suites/ablation.json, from a textbook's table of 2^(7-3), resolution IV.
TEST(MainEffects, OfSixteenArmsContainThreeFactorsEach) {
  const auto levels = effect_cases()[0].at("levels").get<std::vector<std::vector<bool>>>();
  const AliasStructure aliases = alias_structure(levels);
  EXPECT_EQ(aliases.resolution, 4u);
  EXPECT_EQ(aliases.of_factor[0], (std::vector<std::string>{"BCE", "BFG", "CDG", "DEF"}));
  ASSERT_EQ(aliases.pairs.size(), 7u);
  EXPECT_EQ(aliases.pairs[0], (std::vector<std::string>{"AB", "CE", "FG"}));
}

TEST(MainEffects, NeedBalancedArmsWithBothEnds) {
  EXPECT_TRUE(is_balanced({{false, false}, {false, true}, {true, false}, {true, true}}));
  EXPECT_FALSE(is_balanced({{false, false}, {false, true}, {true, true}}));
  EXPECT_FALSE(is_balanced({{false, false}, {true, true}}));  // A is B
  EXPECT_FALSE(is_balanced({{false, true}, {false, false}, {true, false}, {true, true}}));
}

// Two factors: depth adds .2 to val_bpb, the loss of the rest .1; both .3 and nothing else.
void add_experiment(FakeRun& run, double both = 0) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> configurations = {
      {"gpu", {"depth=low", "lr=low"}},
      {"d.a", {"depth=high", "lr=low"}},
      {"d.b", {"depth=low", "lr=high"}},
      {"npu", {"depth=high", "lr=high"}}};
  for (const auto& [device, levels] : configurations)
    for (std::int64_t seed = 1; seed <= 3; ++seed) {
      const bool a = levels[0] == "depth=high", b = levels[1] == "lr=high";
      const double noise = (device == "d.a" ? .001 : -.001) * static_cast<double>(seed == 2);
      run.add_training(device, seed, 1 + .2 * a + .1 * b + both * (a && b) + noise, 0,
                       [&](Record& record) {
                         (*record.settings)["device"] = {{"factors", levels}};
                       });
    }
}

TEST(FactorialOf, ReadsLevelsAndSharesOutTheGap) {
  FakeRun run("ablation");
  add_experiment(run);
  const auto factorial = factorial_of(run.read());
  ASSERT_TRUE(factorial) << factorial.error().message;
  EXPECT_EQ(factorial->factors, (std::vector<std::string>{"depth", "lr"}));
  EXPECT_EQ(factorial->configurations.front(), "gpu");
  EXPECT_EQ(factorial->configurations.back(), "npu");
  ASSERT_FALSE(factorial->metrics.empty());
  const MetricEffects& bpb = factorial->metrics.front();
  EXPECT_EQ(bpb.metric, "val_bpb");
  EXPECT_NEAR(bpb.table.effects[0].value, .2, .001);
  EXPECT_NEAR(*bpb.table.effects[1].share, 1. / 3, .01);
}

TEST(FactorialOf, PrintedSharesAddUpExactly) {
  FakeRun run("ablation");
  add_experiment(run, .0123);
  const auto factorial = factorial_of(run.read());
  ASSERT_TRUE(factorial) << factorial.error().message;
  for (const MetricEffects& metric : factorial->metrics) {
    double sum = metric.table.rest.value;
    for (const EffectEstimate& one : metric.table.effects) sum += one.value;
    EXPECT_NEAR(sum, metric.table.gap.value, 1e-12);
    long tenths = 0;
    const auto rows = effect_rows(*factorial, metric);
    ASSERT_EQ(rows.size(), 4u);
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const bool is_negative = rows[i].share.starts_with("−");
      const double share = std::stod(rows[i].share.substr(is_negative ? 3 : 0));
      tenths += std::lround((is_negative ? -10 : 10) * share);
    }
    EXPECT_EQ(tenths, 1000);
    EXPECT_EQ(rows.back().share, "100.0 %");
  }
  const std::string text = factorial_text(*factorial);
  EXPECT_NE(text.find("emulated"), std::string::npos);
  EXPECT_NE(text.find("interactions and noise"), std::string::npos);
}

TEST(FactorialOf, JsonHasEveryFigure) {
  FakeRun run("ablation");
  add_experiment(run);
  const auto factorial = factorial_of(run.read());
  ASSERT_TRUE(factorial) << factorial.error().message;
  const Json json = factorial_json(*factorial);
  EXPECT_EQ(json.at("arms").size(), 4u);
  EXPECT_EQ(json.at("arms")[0].at("levels").at("depth"), "low");
  const Json& metric = json.at("metrics")[0];
  EXPECT_EQ(metric.at("effects")[0].at("factor"), "depth");
  EXPECT_EQ(metric.at("effects")[0].at("interval95").size(), 2u);
  EXPECT_EQ(metric.at("degrees_of_freedom"), 6);
}

TEST(FactorialOf, AnUnfinishedRunSaysSo) {
  FakeRun run("ablation");
  run.add_training("gpu", 1, 1, 0, [](Record& record) {
    (*record.settings)["device"] = {{"factors", {"depth=low"}}};
  });
  const auto factorial = factorial_of(run.read());
  ASSERT_FALSE(factorial);
  EXPECT_NE(factorial.error().message.find("not balanced"), std::string::npos);
}

TEST(FactorialOf, AnotherRunSaysThatThereIsNoExperiment) {
  FakeRun run;
  run.add_training("gpu", 1, 1);
  const auto factorial = factorial_of(run.read());
  ASSERT_FALSE(factorial);
  EXPECT_NE(factorial.error().message.find("no record is of an experiment's configuration"),
            std::string::npos);
}

}  // namespace
}  // namespace nb
