// How far the devices of one run drift from one of them.
#include "results/compare/drift.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

constexpr int kItems = 40;

// Scored on `device` with the weights of `trained_on`; the first `right` items are right.
void add_scores(FakeRun& run, const std::string& device, const std::string& trained_on,
                std::int64_t seed, int right) {
  run.add_evaluation(
      device, seed, "weights of " + trained_on,
      {{"mw/facts", kItems, [=](int i) { return i < right; },
        [=](int i) -> std::vector<float> {
          return {-1.5F, i < right ? -1.49F + 0.001F * static_cast<float>(i) : -2.0F};
        }}},
      [&](Record& record) {
        const auto before = run.folder_of(record);
        record.trained_on = trained_on;
        record.node_key =
            std::string(8, device == trained_on ? 'a' : 'b') + record.node_key.substr(8);
        std::filesystem::rename(before, run.folder_of(record));
      });
}

void add_devices(FakeRun& run) {
  for (std::int64_t seed : {1, 2}) {
    run.add_training("fp32", seed, 1.0);
    run.add_training("bf16", seed, 1.01, seed == 1 ? 1e-3 : -3e-3);
  }
  add_scores(run, "fp32", "fp32", 1, 20);
  add_scores(run, "bf16", "fp32", 1, 22);
  add_scores(run, "bf16", "bf16", 1, 15);
  add_scores(run, "fp32", "bf16", 1, 14);
}

TEST(Drift, LossesAreComparedStepByStepOverSeeds) {
  FakeRun run("arithmetic");
  add_devices(run);
  const auto drift = drift_from(run.read(), "fp32");
  ASSERT_TRUE(drift) << drift.error().message;
  EXPECT_EQ(drift->shown_steps, (std::vector<std::int64_t>{1, 10, 50, 60}));
  ASSERT_EQ(drift->curves.size(), 1U);
  const CurveDrift& curve = drift->curves[0];
  EXPECT_EQ(curve.device, "bf16");
  EXPECT_EQ(curve.seeds, 2);
  EXPECT_EQ(curve.steps, 60);
  // |1e-3 k| and |-3e-3 k| after k steps: 2e-3 k on average, signed -1e-3 k.
  ASSERT_EQ(curve.at.size(), 4U);
  EXPECT_DOUBLE_EQ(curve.at[0], 0);
  EXPECT_NEAR(curve.at[1], 2e-3 * 9, 1e-9);
  EXPECT_NEAR(curve.at[3], 2e-3 * 59, 1e-9);
  EXPECT_NEAR(curve.largest, 2e-3 * 59, 1e-9);
  EXPECT_EQ(curve.largest_step, 60);
  EXPECT_NEAR(curve.last, 2e-3 * (54 + 59) / 2, 1e-9);
  EXPECT_NEAR(curve.last_signed, -1e-3 * (54 + 59) / 2, 1e-9);
}

TEST(Drift, AnswersOfTheReferencesWeightsAndOfEachDevicesOwnStandApart) {
  FakeRun run("arithmetic");
  add_devices(run);
  const auto drift = drift_from(run.read(), "fp32");
  ASSERT_TRUE(drift) << drift.error().message;
  ASSERT_EQ(drift->same_weights.size(), 1U);
  EXPECT_EQ(drift->same_weights[0].items, kItems);
  EXPECT_EQ(drift->same_weights[0].won, 2);
  EXPECT_EQ(drift->same_weights[0].lost, 0);
  EXPECT_EQ(drift->same_weights[0].hard, 2);  // margins of -0.5 nat turned
  ASSERT_EQ(drift->own_weights.size(), 1U);
  EXPECT_EQ(drift->own_weights[0].lost, 5);
  const std::string text = drift_text(*drift);
  EXPECT_NE(text.find("what arithmetic alone explains: "), std::string::npos) << text;
  EXPECT_NE(text.find("up to 2 of 40 answers flip with the same weights"), std::string::npos)
      << text;
  EXPECT_EQ(drift_json(*drift).at("same_weights").size(), 1U);
}

// Another learning rate on one device: what it explains is not arithmetic's.
TEST(Drift, SettingsThatDifferAreSaidFirst) {
  FakeRun run("arithmetic");
  run.add_training("fp32", 1, 1.0);
  run.add_training("bf16", 1, 1.01, 1e-3, [](Record& record) {
    record.settings = Json{{"device", "bf16"}, {"train", {{"depth", 2}, {"lr", 0.04}}}};
  });
  const auto drift = drift_from(run.read(), "fp32");
  ASSERT_TRUE(drift) << drift.error().message;
  ASSERT_EQ(drift->confounders.size(), 1U);
  EXPECT_EQ(drift->confounders[0], "bf16: /settings/train/lr 0.02 → 0.04");
  EXPECT_EQ(drift_headline(*drift).find("not arithmetic alone"), 0U);
}

TEST(Drift, AnUnknownDeviceIsAnsweredWithThoseThatAre) {
  FakeRun run("arithmetic");
  add_devices(run);
  const auto drift = drift_from(run.read(), "fp64");
  ASSERT_FALSE(drift);
  EXPECT_NE(drift.error().message.find("has no device \"fp64\"; it has: bf16, fp32"),
            std::string::npos)
      << drift.error().message;
  FakeRun alone("arithmetic");
  alone.add_training("fp32", 1, 1.0);
  EXPECT_FALSE(drift_from(alone.read(), "fp32"));
}

}  // namespace
}  // namespace nb
