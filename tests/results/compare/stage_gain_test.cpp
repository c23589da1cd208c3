// Whether a later stage helped: two stages of one run, paired by seed.
#include "results/compare/stage_gain.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

constexpr int kEach = 20;

// Its items have been written already.
void rename(const FakeRun& run, Record& record, const std::string& name) {
  const auto before = run.folder_of(record);
  record.name = name;
  std::filesystem::rename(before, run.folder_of(record));
}

// Three tasks: the first `gsm8k` and `arc` items are right, and always the same of the third.
void add(FakeRun& run, const std::string& stage, const std::string& device, int seed, int gsm8k,
         int arc) {
  run.add_evaluation(device, seed, fmt::format("{}{}", stage, seed),
                     {{"mw/gsm8k", kEach, [=](int i) { return i < gsm8k; }},
                      {"mw/arc", kEach, [=](int i) { return i < arc; }},
                      {"mw/mmlu", kEach, test::even}},
                     [&](Record& record) { rename(run, record, stage + ".chat"); });
}

void add_five_seeds(FakeRun& run) {
  const int mid[] = {8, 7, 9, 8, 6}, sft[] = {12, 12, 13, 11, 12}, arc[] = {6, 7, 5, 6, 6};
  for (int seed = 1; seed <= 5; ++seed)
    for (const char* device : {"ascend_910b3", "h100_sxm"}) {
      const int more = std::string(device) == "h100_sxm" ? 1 : 0;
      add(run, "mid", device, seed, mid[seed - 1] + 2 * more, 5);
      add(run, "sft", device, seed, sft[seed - 1] + more, arc[seed - 1]);
    }
}

const StageGain* gain_of(const StageGains& gains, const std::string& metric) {
  for (const StageGain& gain : gains.gains)
    if (gain.metric == metric) return &gain;
  return nullptr;
}

// What `npubench eval --name mid` leaves beside the suite's mid.chat and sft.chat.
TEST(StageGain, AnEvaluationNamedLikeAStageIsNoneOfIt) {
  FakeRun run("nightly");
  add(run, "mid", "ascend_910b3", 1, 8, 5);
  add(run, "sft", "ascend_910b3", 1, 12, 6);
  run.add_evaluation("ascend_910b3", 1, "other", {{"mw/gsm8k", kEach, test::even}},
                     [&](Record& record) { rename(run, record, "mid"); });
  const auto gains = stage_gains(run.read(), "mid", "sft");
  ASSERT_TRUE(gains) << gains.error().message;
  EXPECT_EQ(gains->gains.size(), 3U);
}

TEST(StageGain, SeedsArePairedAndDevicesAveraged) {
  FakeRun run("nightly");
  add_five_seeds(run);
  const auto gains = stage_gains(run.read(), "mid", "sft");
  ASSERT_TRUE(gains) << gains.error().message;
  ASSERT_EQ(gains->gains.size(), 3U);
  const StageGain* gsm8k = gain_of(*gains, "mw/gsm8k/accuracy");
  ASSERT_NE(gsm8k, nullptr);
  EXPECT_EQ(gsm8k->seeds, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  // Differences of seeds in items: 3.5, 4.5, 3.5, 2.5, 5.5: mean 3.9, SD 1.14018, t = 7.6485 on 4
  // degrees of freedom, p = .00157000 (R: 2 * pt(-7.6485, 4)); qt(.975, 4) = 2.776445.
  EXPECT_NEAR(gsm8k->difference, 3.9 / 20, 1e-12);
  EXPECT_NEAR(*gsm8k->p, 1.5700005e-3, 1e-7);
  EXPECT_NEAR(*gsm8k->p_holm, 3 * *gsm8k->p, 1e-12);
  const double half = 2.776445 * 1.1401754 / 2.2360680 / 20;
  EXPECT_NEAR(gsm8k->interval95->low, 3.9 / 20 - half, 1e-6);
  EXPECT_NEAR(gsm8k->interval95->high, 3.9 / 20 + half, 1e-6);
  EXPECT_EQ(gsm8k->shown, Shown::kBetter);
  const StageGain* arc = gain_of(*gains, "mw/arc/accuracy");
  ASSERT_NE(arc, nullptr);
  // 1, 2, 0, 1, 1: t = 3.1623, p = .0341, which two tests that are not better double.
  EXPECT_NEAR(*arc->p, .0341, 5e-5);
  EXPECT_NEAR(*arc->p_holm, .0682, 1e-4);
  EXPECT_EQ(arc->shown, Shown::kNotShown);
  EXPECT_GT(*arc->min_detectable, 0);
  EXPECT_EQ(gain_of(*gains, "mw/mmlu/accuracy")->shown, Shown::kEqual);
  EXPECT_EQ(stage_headline(*gains),
            "sft after mid: better in mw/gsm8k; worse in none; not established in 2");
  const std::string text = stage_gains_text(*gains);
  EXPECT_NE(text.find("would have shown"), std::string::npos) << text;
}

TEST(StageGain, TheOtherWayRoundIsWorse) {
  FakeRun run("nightly");
  add_five_seeds(run);
  const auto gains = stage_gains(run.read(), "sft", "mid");
  ASSERT_TRUE(gains);
  EXPECT_EQ(gain_of(*gains, "mw/gsm8k/accuracy")->shown, Shown::kWorse);
}

TEST(StageGain, SubjectsAreAFamilyApartFromTheirTask) {
  FakeRun run("nightly");
  const int mid[] = {8, 7, 9, 8, 6}, sft[] = {10, 10, 10, 10, 11};
  for (int seed = 1; seed <= 5; ++seed)
    for (const std::string stage : {"mid", "sft"}) {
      const int right = (stage == "mid" ? mid : sft)[seed - 1];
      std::vector<FakeRun::Task> tasks = {{"mw/mmlu", kEach, [=](int i) { return i < right; }}};
      for (const char* subject : {"mw/mmlu/colours", "mw/mmlu/jobs", "mw/mmlu/rooms"})
        tasks.push_back({subject, kEach, [=](int i) { return i < right; }});
      run.add_evaluation("h100_sxm", seed, stage + std::to_string(seed), tasks,
                         [&](Record& record) { rename(run, record, stage + ".chat"); });
    }
  const auto gains = stage_gains(run.read(), "mid", "sft");
  ASSERT_TRUE(gains) << gains.error().message;
  const StageGain* task = gain_of(*gains, "mw/mmlu/accuracy");
  const StageGain* part = gain_of(*gains, "mw/mmlu/jobs/accuracy");
  EXPECT_FALSE(task->is_part);
  EXPECT_TRUE(part->is_part);
  EXPECT_EQ(task->p_holm, task->p) << "alone in its family";
  EXPECT_DOUBLE_EQ(*part->p_holm, std::min(1.0, 3 * *part->p));
  const std::string text = stage_gains_text(*gains);
  EXPECT_NE(text.find("apart, over 3 parts of them"), std::string::npos) << text;
  EXPECT_EQ(stage_headline(*gains),
            "sft after mid: better in mw/mmlu; worse in none; not established in 3");
}

TEST(StageGain, AChosenMetricIsCorrectedForNoOther) {
  FakeRun run("nightly");
  add_five_seeds(run);
  const auto all = stage_gains(run.read(), "mid", "sft");
  const auto one = stage_gains(run.read(), "mid", "sft", {"mw/gsm8k"});
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->gains.size(), 1U);
  EXPECT_EQ(one->gains[0].p, gain_of(*all, "mw/gsm8k/accuracy")->p);
  EXPECT_EQ(one->gains[0].p_holm, one->gains[0].p);
  const auto none = stage_gains(run.read(), "mid", "sft", {"mw/gsm"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "--metric mw/gsm: the stages do not share it; did you mean \"mw/gsm8k\"?; they share: "
            "mw/arc, mw/gsm8k, mw/mmlu");
}

// Bits per byte: lower is better.
TEST(StageGain, ALossThatFallsIsBetter) {
  FakeRun run("nightly");
  for (int seed = 1; seed <= 5; ++seed)
    for (const std::string stage : {"mid", "sft"})
      run.add_evaluation("h100_sxm", seed, stage + std::to_string(seed),
                         {{"mw/gsm8k", kEach, test::even}}, [&](Record& record) {
                           rename(run, record, stage + ".chat");
                           record.metrics.push_back(test::metric_of(
                               "mw/text/bits_per_byte",
                               (stage == "mid" ? 1.2 : 1.094 + .002 * seed) + .001 * seed * seed,
                               "bit/byte", Direction::kLower));
                         });
  const auto gains = stage_gains(run.read(), "mid", "sft");
  ASSERT_TRUE(gains) << gains.error().message;
  const StageGain* loss = gain_of(*gains, "mw/text/bits_per_byte");
  ASSERT_NE(loss, nullptr);
  EXPECT_NEAR(loss->difference, -.1, 1e-12);
  EXPECT_EQ(loss->shown, Shown::kBetter);
}

TEST(StageGain, OneSeedIsJudgedByItsItemsAndSaysSo) {
  FakeRun run("nightly");
  add(run, "mid", "h100_sxm", 1, 4, 5);
  add(run, "sft", "h100_sxm", 1, 12, 5);
  // Of another training, whose SFT is not there: no partner.
  run.add_evaluation("h100_sxm", 1, "other", {{"mw/gsm8k", kEach, test::even}},
                     [&](Record& record) {
                       const auto before = run.folder_of(record);
                       record.name = "mid.chat";
                       record.trained_on = "ascend_910b3";
                       std::filesystem::rename(before, run.folder_of(record));
                     });
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
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/gsm8k", kEach, test::even}}, [&](Record& record) {
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
