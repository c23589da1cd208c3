// Whether a later stage helped: two stages of one run, paired by seed.
#include "results/stage_gain.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

constexpr int kItems = 20;

// Its items have been written already.
void rename(const FakeRun& run, Record& record, const std::string& name) {
  const auto before = run.folder_of(record);
  record.name = name;
  std::filesystem::rename(before, run.folder_of(record));
}

// Two tasks, of which the first `gsm8k` and `arc` items are right.
void add(FakeRun& run, const std::string& stage, const std::string& device, int seed, int gsm8k,
         int arc) {
  run.add_evaluation(device, seed, fmt::format("{}{}", stage, seed),
                     {{"mw/gsm8k", kItems, [=](int i) { return i < gsm8k; }},
                      {"mw/arc", kItems, [=](int i) { return i < arc; }}},
                     [&](Record& record) { rename(run, record, stage + ".chat"); });
}

void add_five_seeds(FakeRun& run) {
  const int mid[] = {8, 7, 9, 8, 6}, sft[] = {12, 12, 13, 11, 12}, arc[] = {5, 6, 4, 5, 6};
  for (int seed = 1; seed <= 5; ++seed)
    for (const char* device : {"ascend_910b3", "h100_sxm"}) {
      const int more = std::string(device) == "h100_sxm" ? 1 : 0;
      add(run, "mid", device, seed, mid[seed - 1], 5);
      add(run, "sft", device, seed, sft[seed - 1] + more, arc[seed - 1]);
    }
}

const StageGain* gain_of(const StageGains& gains, const std::string& metric) {
  for (const StageGain& gain : gains.gains)
    if (gain.metric == metric) return &gain;
  return nullptr;
}

TEST(StageGain, SeedsArePairedAndDevicesAveraged) {
  FakeRun run("nightly");
  add_five_seeds(run);
  const auto gains = stage_gains(run.read(), "mid", "sft");
  ASSERT_TRUE(gains) << gains.error().message;
  ASSERT_EQ(gains->gains.size(), 2U);
  const StageGain* gsm8k = gain_of(*gains, "mw/gsm8k/accuracy");
  ASSERT_NE(gsm8k, nullptr);
  EXPECT_EQ(gsm8k->seeds, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  // Differences of seeds in items: 4.5, 5.5, 4.5, 3.5, 6.5: mean 4.9, SD 1.14018, t = 9.6098 on 4
  // degrees of freedom, p = 6.555e-4 (R: 2 * pt(-9.6098, 4)); qt(.975, 4) = 2.776445.
  EXPECT_NEAR(gsm8k->difference, 4.9 / 20, 1e-12);
  EXPECT_NEAR(*gsm8k->p, 6.5553e-4, 1e-7);
  EXPECT_NEAR(*gsm8k->p_holm, 2 * *gsm8k->p, 1e-12);
  const double half = 2.776445 * 1.1401754 / 2.2360680 / 20;
  EXPECT_NEAR(gsm8k->interval95->low, 4.9 / 20 - half, 1e-6);
  EXPECT_NEAR(gsm8k->interval95->high, 4.9 / 20 + half, 1e-6);
  EXPECT_EQ(gsm8k->shown, Shown::kBetter);
  const StageGain* arc = gain_of(*gains, "mw/arc/accuracy");
  ASSERT_NE(arc, nullptr);
  EXPECT_EQ(arc->shown, Shown::kNotShown);
  EXPECT_GT(*arc->visible, 0);
  EXPECT_EQ(stage_headline(*gains),
            "sft after mid: better in mw/gsm8k; worse in none; no difference shown in 1");
  const std::string text = stage_gains_text(*gains);
  EXPECT_NE(text.find("could see ≥ "), std::string::npos) << text;
}

TEST(StageGain, TheOtherWayRoundIsWorse) {
  FakeRun run("nightly");
  add_five_seeds(run);
  const auto gains = stage_gains(run.read(), "sft", "mid");
  ASSERT_TRUE(gains);
  EXPECT_EQ(gain_of(*gains, "mw/gsm8k/accuracy")->shown, Shown::kWorse);
}

TEST(StageGain, OneSeedIsJudgedByItsItemsAndSaysSo) {
  FakeRun run("nightly");
  add(run, "mid", "h100_sxm", 1, 4, 5);
  add(run, "sft", "h100_sxm", 1, 12, 5);
  const auto gains = stage_gains(run.read(), "mid", "sft");
  ASSERT_TRUE(gains) << gains.error().message;
  const StageGain* gsm8k = gain_of(*gains, "mw/gsm8k/accuracy");
  EXPECT_NEAR(*gsm8k->p, 1.0 / 256, 1e-12);  // mid-p of 8 against 0: 2^-8
  EXPECT_EQ(gsm8k->shown, Shown::kBetter);
  EXPECT_EQ(gain_of(*gains, "mw/arc/accuracy")->shown, Shown::kEqual);
  EXPECT_NE(stage_gains_text(*gains).find("one seed: paired items"), std::string::npos);
}

TEST(StageGain, StagesThatAreNotThereAreAnsweredWithThoseThatAre) {
  FakeRun run("nightly");
  add_five_seeds(run);
  const auto missing = stage_gains(run.read(), "mid", "rl");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("no evaluation of the stage \"rl\"; it has: mid, sft"),
            std::string::npos)
      << missing.error().message;
  EXPECT_FALSE(stage_gains(run.read(), "mid", "mid"));
}

TEST(StageGain, OtherItemsAreLeftOutAndNamed) {
  FakeRun run("nightly");
  add(run, "mid", "h100_sxm", 1, 4, 5);
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/gsm8k", kItems, test::even}}, [&](Record& record) {
    rename(run, record, "sft.chat");
    record.comparability["mw/gsm8k/items"] = "others";
  });
  const auto gains = stage_gains(run.read(), "mid", "sft");
  ASSERT_TRUE(gains) << gains.error().message;
  EXPECT_TRUE(gains->gains.empty());
  ASSERT_EQ(gains->notes.size(), 1U);
  EXPECT_NE(gains->notes[0].find("chat mw/gsm8k/accuracy: left out: "), std::string::npos)
      << gains->notes[0];
}

TEST(StageGain, AFailedEvaluationIsNamed) {
  FakeRun run("nightly");
  add(run, "mid", "h100_sxm", 1, 4, 5);
  add(run, "sft", "h100_sxm", 1, 4, 5);
  RunRecords records = run.read();
  records.records.back().record.status = "failed";
  records.records.back().record.error = "out of memory";
  const auto gains = stage_gains(records, "mid", "sft");
  ASSERT_FALSE(gains);
  EXPECT_NE(gains.error().message.find("no evaluation of the stage \"sft\""), std::string::npos);
}

}  // namespace
}  // namespace nb
