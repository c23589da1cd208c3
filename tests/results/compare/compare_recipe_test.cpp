// What else than the device differs: settings, recipes, harnesses, unknown weights.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "results/compare/compare.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/results/metric_row.hpp"

namespace nb {
namespace {

using test::always;
using test::even;
using test::FakeRun;
using test::metric;

TEST(Compare, ConfoundersAreListedOnceWithWhatTheyTouch) {
  FakeRun base, candidate;
  const auto faster = [](Record& record) {
    (*record.settings)["train"]["lr"] = 0.04;
    (*record.settings)["train"]["warmup"] = 10;
    record.subject["code"] = "other";
  };
  for (const std::int64_t seed : {1, 2}) {
    base.add_evaluation("ascend_910b3", seed, "w", {{"mw/facts", 40, even}});
    candidate.add_evaluation("ascend_910b3", seed, "w", {{"mw/facts", 40, even}}, faster);
  }
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  ASSERT_EQ(c.confounders.size(), 3U);
  EXPECT_EQ(c.confounders[0].field, "/settings/train/lr");
  EXPECT_EQ(c.confounders[0].a, "0.02");
  EXPECT_EQ(c.confounders[0].b, "0.04");
  EXPECT_EQ(c.confounders[0].where.size(), 2U);
  EXPECT_EQ(c.confounders[1].a, "(absent)");
  EXPECT_EQ(c.confounders[2].category, "code");
  EXPECT_FALSE(c.only_device_differs());
  EXPECT_NE(comparison_text(c).find("CONFOUNDED"), std::string::npos);
}

// Changed data were "changed settings", and files and code two digests each.
TEST(Compare, CausesAreNamedByTheirKindAndTheirNames) {
  FakeRun base, candidate;
  const auto made_of = [](const std::string& text, const std::string& optim) {
    return [=](Record& record) {
      (*record.settings)["file_digests"] = {{"novels/emma.txt", std::string(64, text[0])}};
      record.subject["code"] = std::string(64, optim[0]);
      (*record.environment)["code"] = {
          {"components", {{"model/optim", optim}, {"model/train", "same"}}}};
    };
  };
  base.add_training("h100_sxm", 1, 1.5, 0, made_of("a", "c"));
  candidate.add_training("h100_sxm", 1, 1.6, 0, made_of("b", "d"));
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_EQ(text_of(c.likely_cause()),
            "changed data: novels/emma.txt has other content; changed code: model/optim");
  EXPECT_EQ(comparison_json(c)["confounders"][0]["category"], "data");
  EXPECT_EQ(comparison_json(c)["confounders"][1]["named"], "model/optim");
}

TEST(Compare, SettingsWithoutEffectAreNoConfounders) {
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}});
  candidate.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}}, [](Record& record) {
    (*record.settings)["evaluation"]["of_baseline"] = true;
    (*record.settings)["evaluation"]["batch_size"] = 8;
    (*record.settings)["train"]["checkpoint_every"] = 7;
  });
  const RunRecords a = base.read(), b = candidate.read();
  EXPECT_TRUE(compare_runs(a, b).confounders.empty());
  EXPECT_TRUE(compare_runs(a, b).likely_cause().empty());
}

// run --baseline: the candidate's program looks at the baseline's checkpoint again.
TEST(Compare, ACheckpointThatIsEvaluatedAgainIsNoConfounder) {
  FakeRun base, candidate;
  base.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}});
  candidate.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}}, [](Record& record) {
    (*record.settings)["finished"] = {{"device", "ascend_910b3"}, {"key", "a5"}, {"seed", 1}};
  });
  const RunRecords a = base.read(), b = candidate.read();
  EXPECT_TRUE(compare_runs(a, b).confounders.empty());
  // Two runs that each looked at another one's.
  base.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}}, [](Record& record) {
    (*record.settings)["finished"] = {{"device", "ascend_910b3"}, {"key", "b6"}, {"seed", 1}};
  });
  EXPECT_FALSE(compare_runs(base.read(), b).confounders.empty());
}

TEST(Compare, DevicesOfOneRunPairAndTheDeviceNameIsNoConfounder) {
  FakeRun run;
  for (const char* device : {"ascend_910b3", "h100_sxm"}) {
    run.add_training(device, 1, device[0] == 'a' ? 1.5 : 1.4);
    run.add_evaluation(device, 1, device, {{"mw/facts", 40, even}});
  }
  const RunRecords records = run.read();
  const auto c = compare_devices(records, "ascend_910b3", "h100_sxm");
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_EQ(c->pairs.size(), 2U);
  EXPECT_TRUE(c->only_device_differs());
  // The numerics card's differences explain different bits; the common entry is no difference.
  ASSERT_GE(c->confounders.size(), 2U);
  EXPECT_EQ(c->confounders[0].category, "numerics");
  EXPECT_EQ(c->confounders[0].field, "summation order");
  // Each side its own weights: an item interval says nothing about another seed.
  EXPECT_FALSE(c->pairs[0].fixed_weights);
  EXPECT_NE(
      text_of(metric(c->pairs[0], "mw/facts/accuracy").method).find("these two checkpoints only"),
      std::string::npos);
  EXPECT_NEAR(*metric(c->pairs[1], "val_bpb").difference, -0.1, 1e-12);

  const auto unknown = compare_devices(records, "ascend_910b3", "tpu");
  ASSERT_FALSE(unknown);
  EXPECT_NE(
      unknown.error().message.find("no record of device \"tpu\"; it has: ascend_910b3, h100_sxm"),
      std::string::npos);
}

TEST(Compare, OtherHashesAreNamedAndGiveNoDifference) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 40, even}, {"mw/b", 40, even}});
  candidate.add_evaluation("h100_sxm", 1, "w", {{"mw/a", 40, even}, {"mw/b", 40, always}},
                           [](Record& r) { r.comparability["mw/a/prompts"] = "p2"; });
  const RunRecords a = base.read(), b = candidate.read();
  const Comparison c = compare_runs(a, b);
  EXPECT_EQ(text_of(metric(c.pairs[0], "mw/a/accuracy").note),
            "INCOMPARABLE: mw/a/prompts differs: p1 and p2");
  EXPECT_FALSE(metric(c.pairs[0], "mw/a/accuracy").difference);
  EXPECT_TRUE(metric(c.pairs[0], "mw/b/accuracy").counts) << "the other task stays comparable";
}

// An NPU model trained with another learning rate is not the NPU's fault.
TEST(Compare, EvaluationsCarryTheRecipeOfTheirCheckpoint) {
  FakeRun run;
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, even}});
  run.add_evaluation("ascend_910b3", 1, "v", {{"mw/facts", 40, always}}, [](Record& record) {
    (*record.checkpoint)["settings"]["matrix_lr"] = 1e-5;
    (*record.checkpoint)["data"] = "d2";
  });
  const RunRecords records = run.read();
  const auto c = compare_devices(records, "h100_sxm", "ascend_910b3");
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->only_device_differs());
  ASSERT_GE(c->confounders.size(), 2U);
  EXPECT_EQ(c->confounders[0].field, "/checkpoint/settings/matrix_lr");
  EXPECT_EQ(c->confounders[0].category, "settings");
  EXPECT_EQ(c->confounders[1].field, "/checkpoint/data");
  EXPECT_EQ(c->confounders[1].category, "data");
  EXPECT_NE(comparison_text(*c).find("CONFOUNDED"), std::string::npos);
  EXPECT_EQ(comparison_json(*c)["only_device_differs"], false);
}

TEST(Compare, WeightsThatSayNothingOfTheirTrainingAreUnknownNotEqual) {
  FakeRun run;
  run.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 40, even}});
  run.add_evaluation("ascend_910b3", 1, "v", {{"mw/facts", 40, always}},
                     [](Record& record) { record.checkpoint = Json(); });
  const RunRecords records = run.read();
  const auto c = compare_devices(records, "h100_sxm", "ascend_910b3");
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->only_device_differs());
  const std::string text = comparison_text(*c);
  EXPECT_NE(text.find("training settings unknown: eval base.core on ascend_910b3"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("are equal"), std::string::npos) << text;
  EXPECT_FALSE(comparison_json(*c)["unknown"].empty());
}

TEST(Compare, TheSameWeightsScoredOtherwiseIsTheFirstLine) {
  FakeRun base, candidate;
  base.add_evaluation("h100_sxm", 1, "w", {{"mw/facts", 100, even}});
  candidate.add_evaluation("h100_sxm", 1, "w",
                           {{"mw/facts", 100, [](int i) { return i % 2 == 0 || i == 7; }}});
  const RunRecords a = base.read(), b = candidate.read();
  const std::string text = comparison_text(compare_runs(a, b));
  EXPECT_TRUE(text.starts_with("! identical weights were scored differently on the same device"))
      << text;
}

TEST(Compare, ATrainingProcedureThatChangedShowsInTheFirstSteps) {
  FakeRun base, rounding, changed;
  base.add_training("h100_sxm", 1, 1.5);
  rounding.add_training("h100_sxm", 1, 1.501, 1e-5);
  changed.add_training("h100_sxm", 1, 1.501, .05,
                       [](Record& record) { (*record.settings)["train"]["lr"] = .01; });
  const RunRecords a = base.read(), b = rounding.read(), c = changed.read();
  EXPECT_TRUE(compare_runs(a, b).pairs[0].curves_agree);
  const Comparison departed = compare_runs(a, c);
  ASSERT_TRUE(departed.pairs[0].departure);
  EXPECT_EQ(departed.pairs[0].departure->step, 1);
  EXPECT_FALSE(departed.pairs[0].departure->before_learning);
  const std::string text = comparison_text(departed);
  EXPECT_TRUE(text.starts_with("! the training procedure changed: train base on h100_sxm, seed 1"))
      << text;
  EXPECT_NE(text.find("likely cause: changed settings: /settings/train/lr 0.02 → 0.01"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace nb
