#include "harness/cli/predict_sweep.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/text_width.hpp"

namespace nb::cli {
namespace {

PredictRequest tiny_question() {
  PredictRequest request;
  request.device = "tiny";
  request.given = {{"depth", "2"}, {"vocab_size", "512"},          {"sequence_len", "64"},
                   {"cards", "1"}, {"total_batch_tokens", "1024"}, {"device_batch_size", "1"}};
  return request;
}

std::string refusal(const std::vector<std::string>& specs) {
  const auto sweep = run_sweep(tiny_question(), specs);
  return sweep ? "" : sweep.error().message;
}

TEST(PredictSweep, IsTheGridOfItsFieldsTheLastFastest) {
  const auto sweep = run_sweep(tiny_question(), {"cards=1,2", "device-batch-size=1,2,4"});
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_EQ(sweep->points.size(), 6U);
  EXPECT_EQ(sweep->points[1].values, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(sweep->points[3].values, (std::vector<std::string>{"2", "1"}));
  EXPECT_EQ(sweep->points[5].subject.settings.cards, 2);
  EXPECT_EQ(*sweep->points[5].subject.settings.device_batch_size, 4);
  // A point is what the same flags say on their own.
  PredictRequest alone = tiny_question();
  alone.given["cards"] = "2";
  alone.given["device_batch_size"] = "4";
  const auto subject = subject_of(alone);
  ASSERT_TRUE(subject);
  const auto prediction = predict(subject->settings, subject->profile, subject->between_nodes);
  EXPECT_EQ(prediction->step_time_ns, sweep->points[5].prediction.step_time_ns);
}

TEST(PredictSweep, TableCsvAndJsonHaveEveryPoint) {
  const auto sweep = run_sweep(tiny_question(), {"device=tiny,ascend_910b3,h100_sxm"});
  ASSERT_TRUE(sweep) << sweep.error().message;
  const auto table = parse_csv(sweep_csv(*sweep), "sweep");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->rows.size(), 3U);
  EXPECT_EQ(table->rows[1][0], "ascend_910b3");
  EXPECT_EQ(std::stod(table->rows[1][*table->column("step_time_ns")]),
            sweep->points[1].prediction.step_time_ns);
  const Json json = sweep_json(*sweep);
  EXPECT_EQ(json.at("points").at(2).at("values").at("device"), "h100_sxm");
  EXPECT_EQ(json.at("points").at(2).at("prediction").at("device"), "h100_sxm");
  const std::string text = sweep_text(*sweep);
  for (const char* word : {"h100_sxm", "limited by", "tok/s"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST(PredictSweep, WhatDoesNotFitIsARow) {
  PredictRequest request = tiny_question();
  request.given["total_batch_tokens"] = "2097152";
  const auto sweep = run_sweep(request, {"device_batch_size=256,32768"});
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_TRUE(sweep->points[0].prediction.fits);
  EXPECT_FALSE(sweep->points[1].prediction.fits);
  EXPECT_NE(sweep_text(*sweep).find("  no"), std::string::npos);
  EXPECT_NE(sweep_csv(*sweep).find("\n32768,0,"), std::string::npos) << sweep_csv(*sweep);
  const auto plot = sweep_plot(*sweep);
  ASSERT_TRUE(plot);
  EXPECT_EQ(plot->series.at(0).x, std::vector<double>{256});
}

TEST(PredictSweep, DrawsLinesOverNumbersAndBarsOverNames) {
  const auto lines = run_sweep(tiny_question(), {"depth=1,2", "cards=1,2,4"});
  ASSERT_TRUE(lines) << lines.error().message;
  const auto plot = sweep_plot(*lines);
  ASSERT_TRUE(plot);
  ASSERT_EQ(plot->series.size(), 2U);
  EXPECT_EQ(plot->series[1].title, "depth=2");
  EXPECT_EQ(plot->series[1].x, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(plot->series[1].y[2], lines->points[5].prediction.throughput_tok_s);
  const auto bars = run_sweep(tiny_question(), {"device=tiny,h100_sxm"});
  ASSERT_TRUE(bars);
  const auto named = sweep_plot(*bars);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->kind, PlotKind::kBars);
  EXPECT_EQ(named->categories.at(1), "device=h100_sxm");
  const auto many = run_sweep(tiny_question(), {"depth=1,2,3,4,6,7,8", "cards=1,2"});
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_FALSE(sweep_plot(*many));
}

TEST(PredictSweep, RefusesWhatCannotBeSwept) {
  EXPECT_NE(refusal({"cards"}).find("is not FIELD=a,b,c"), std::string::npos);
  EXPECT_NE(refusal({"cards=1,,2"}).find("has an empty value"), std::string::npos);
  EXPECT_NE(refusal({"card=1,2"}).find("did you mean \"cards\"?"), std::string::npos);
  EXPECT_NE(refusal({"cards=1", "cards=2"}).find("swept twice"), std::string::npos);
  // No point can be answered.
  EXPECT_NE(refusal({"cards=3"}).find("sweep: cards=3: "), std::string::npos)
      << refusal({"cards=3"});
  EXPECT_NE(refusal({"device=tinny"}).find("did you mean \"tiny\"?"), std::string::npos);
  std::string thousand = "steps=1";
  for (int i = 2; i <= 1001; ++i) thousand += "," + std::to_string(i);
  EXPECT_NE(refusal({thousand}).find("1001 points are more than 1000"), std::string::npos);
}

TEST(PredictSweep, MegatronsModelsAreSweptOverTheirCutsToo) {
  PredictRequest request;
  request.device = "ascend_910b2";
  request.given = {{"model", "llama2-7b"}, {"total_batch_tokens", "1048576"}};
  const auto sweep = run_sweep(request, {"tp=1,8", "optimizer=adam,distributed"}, {.pp = "1"});
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_EQ(sweep->points.size(), 4U);
  const MegatronAnswer alone =
      *ask_megatron(request, {.tp = "8", .pp = "1", .vpp = "", .optimizer = "distributed"});
  ASSERT_TRUE(sweep->points[3].megatron);
  EXPECT_EQ(sweep->points[3].megatron->step.step_ns, alone.step.step_ns);
  EXPECT_FALSE(sweep->points[0].fits());  // 18 bytes per parameter of 6.7e9 on one card
  EXPECT_TRUE(sweep->points[3].fits());
  const auto table = parse_csv(sweep_csv(*sweep), "sweep");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows.size(), 4U);
  EXPECT_NE(sweep_csv(*sweep).find("\n1,adam,0,"), std::string::npos) << sweep_csv(*sweep);
  EXPECT_EQ(sweep_json(*sweep)["points"][3]["prediction"]["method"], "closed form");
  EXPECT_NE(sweep_text(*sweep).find("communication"), std::string::npos) << sweep_text(*sweep);
}

// A dry step and a closed form stand in one table.
TEST(PredictSweep, ModelsOfBothKindsAreComparedInOneTable) {
  PredictRequest request;
  request.device = "ascend_910b2";
  request.given = {{"total_batch_tokens", "524288"}};
  const auto sweep = run_sweep(request, {"model=gpt2,qwen1.5-1.8b"});
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_FALSE(sweep->points[0].megatron);
  EXPECT_TRUE(sweep->points[1].megatron);
  EXPECT_TRUE(sweep_plot(*sweep));
}

TEST(PredictSweep, AnUnknownFieldIsNamedWithItsNeighbour) {
  PredictRequest request;
  request.device = "ascend_910b2";
  request.given = {{"model", "llama2-7b"}, {"total_batch_tokens", "1048576"}};
  const auto sweep = run_sweep(request, {"pq=1"});
  ASSERT_FALSE(sweep);
  EXPECT_NE(sweep.error().message.find("did you mean \"pp\"?"), std::string::npos)
      << sweep.error().message;
}

// One bad cell ended the whole sweep.
TEST(PredictSweep, ACutThatCannotBeIsACellThatSaysWhy) {
  PredictRequest request;
  request.device = "ascend_910b2";
  request.given = {{"model", "llama2-7b"}, {"total_batch_tokens", "1048576"}};
  const auto sweep = run_sweep(request, {"tp=1,3,8"});
  ASSERT_TRUE(sweep) << sweep.error().message;
  ASSERT_EQ(sweep->points.size(), 3U);
  EXPECT_EQ(sweep->points[0].error, "");
  EXPECT_NE(sweep->points[1].error.find("ranks 8 is not divisible by tp"), std::string::npos)
      << sweep->points[1].error;
  EXPECT_FALSE(sweep->points[1].fits());
  EXPECT_NE(sweep_text(*sweep).find("(1) "), std::string::npos) << sweep_text(*sweep);
  const auto table = parse_csv(sweep_csv(*sweep), "sweep");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows[1][*table->column("error")], sweep->points[1].error);
  EXPECT_EQ(table->rows[0][*table->column("error")], "");
  EXPECT_EQ(sweep_json(*sweep).at("points").at(1).at("error"), sweep->points[1].error);
  EXPECT_TRUE(sweep_plot(*sweep));
  request.given["model"] = "gpt2";
  const auto presets = run_sweep(request, {"pp=1,2"});
  ASSERT_TRUE(presets) << presets.error().message;
  EXPECT_EQ(presets->points[1].error.find("--pp: presets of the decoder"), 0U)
      << presets->points[1].error;
}

// --stage foo listed dpo, which --stage dpo then refused.
TEST(PredictSweep, NoStageIsListedThatIsRefused) {
  for (const char* stage : {"foo", "dpo"})
    EXPECT_NE(refusal({std::string("stage=") + stage}).find("is not one of base, mid, sft, rl"),
              std::string::npos)
        << refusal({std::string("stage=") + stage});
}

TEST(PredictSweep, SwitchesOfMegatronsModelsAreSweptToo) {
  PredictRequest request;
  request.device = "ascend_910b2";
  request.given = {{"model", "llama2-7b"}, {"total_batch_tokens", "1048576"}};
  const auto sweep = run_sweep(request, {"mc2=off,on"}, {.tp = "8"});
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_GT(sweep->points[1].throughput_tok_s(), sweep->points[0].throughput_tok_s());
}

}  // namespace
}  // namespace nb::cli
