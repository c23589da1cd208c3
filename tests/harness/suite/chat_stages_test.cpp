// Stages on conversations and on pairs of answers: what a suite may ask of them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/suite/load.hpp"

namespace nb {
namespace {

Json suite_with(const char* stage, const char* task) {
  Json json = Json::parse(R"({
    "name": "small",
    "devices": ["ascend_910b3"],
    "corpus": {"microworld": {"documents": 50}},
    "tokenizer": {"vocab_size": 300},
    "stages": {"base": {"depth": 2, "sequence_len": 32, "device_batch_size": 2,
                        "total_batch_tokens": 128, "iterations": 3}}
  })");
  Json rows = Json::array({{{"task", task}, {"size", 50}}});
  if (std::string(task) == "preferences") rows = {{{"task", task}, {"file", "my.jsonl"}}};
  json["stages"][stage] = {{"train", rows}, {"validation", rows}};
  return json;
}

std::string stage_problem(const Json& json) {
  const auto suite = parse_suite(json, "s.json");
  return suite ? std::string() : suite.error().message;
}

TEST(ChatStages, ComeInTheirOrder) {
  Json json = suite_with("rl", "mw/gsm8k");
  json["stages"]["dpo"] = suite_with("dpo", "mw/gsm8k_pairs")["stages"]["dpo"];
  json["stages"]["sft"] = suite_with("sft", "mw/gsm8k")["stages"]["sft"];
  const auto suite = parse_suite(json, "s.json");
  ASSERT_TRUE(suite) << suite.error().message;
  EXPECT_EQ(suite->stages.all(),
            (std::vector<TrainingStage>{TrainingStage::kBase, TrainingStage::kSft,
                                        TrainingStage::kDpo, TrainingStage::kRl}));
}

TEST(ChatStages, DpoLearnsFromPairsAlone) {
  for (const char* task : {"mw/arc_easy_pairs", "mw/spellingbee_pairs", "preferences"})
    EXPECT_EQ(stage_problem(suite_with("dpo", task)), "") << task;
  EXPECT_NE(stage_problem(suite_with("dpo", "mw/gsm8k"))
                .find("s.json: /stages/dpo/train/0/task: no pairs \"mw/gsm8k\"; did you mean "
                      "\"mw/gsm8k_pairs\"?; there are preferences, arc_easy_pairs"),
            std::string::npos)
      << stage_problem(suite_with("dpo", "mw/gsm8k"));
  EXPECT_EQ(stage_problem(suite_with("sft", "mw/gsm8k_pairs")),
            "s.json: /stages/sft/train/0/task: mw/gsm8k_pairs is of pairs of answers, which "
            "/stages/dpo alone learns from");
  Json json = suite_with("dpo", "preferences");
  json["stages"]["dpo"]["train"][0].erase("file");
  EXPECT_NE(stage_problem(json).find("/stages/dpo/train/0/file: missing"), std::string::npos);
}

TEST(ChatStages, BatchesOfPairsDivide) {
  Json json = suite_with("dpo", "mw/mmlu_pairs");
  json["stages"]["dpo"]["target_examples_per_step"] = 6;
  EXPECT_EQ(stage_problem(json),
            "s.json: /stages/dpo: target_examples_per_step 6 is not a multiple of "
            "device_batch_size 4; the nearest valid target_examples_per_step: 4 or 8");
}

TEST(ChatStages, PackedRowsHaveBatchesOfTokens) {
  Json json = suite_with("sft", "mw/gsm8k");
  json["stages"]["sft"]["packed"] = {{"total_batch_tokens", 1000}};
  EXPECT_NE(stage_problem(json).find("s.json: /stages/sft: total_batch_tokens 1000 is not a "
                                     "multiple of"),
            std::string::npos)
      << stage_problem(json);
  json["stages"]["sft"]["packed"] = {{"total_batch_tokens", 1024}, {"bufer", 3}};
  EXPECT_NE(stage_problem(json).find("did you mean \"buffer\""), std::string::npos)
      << stage_problem(json);
  json["stages"]["sft"]["packed"] = Json::object();
  json["stages"]["sft"]["num_epochs"] = 2;
  EXPECT_NE(stage_problem(json).find("num_epochs: packed rows do not read it"), std::string::npos)
      << stage_problem(json);
}

TEST(ChatStages, AdaptersOfNoProductNameTheNearest) {
  for (const char* stage : {"mid", "sft", "rl", "dpo"}) {
    Json json = suite_with(stage, std::string(stage) == "dpo" ? "mw/gsm8k_pairs" : "mw/gsm8k");
    json["stages"][stage]["lora"] = {{"targets", {"all-linear"}}};
    if (std::string(stage) == "mid") {
      json["stages"]["mid"]["device_batch_size"] = 2;
      json["stages"]["mid"]["total_batch_tokens"] = 128;
    }
    EXPECT_EQ(stage_problem(json), "") << stage;
    json["stages"][stage]["lora"]["targets"] = {"q_prj"};
    EXPECT_NE(stage_problem(json).find(std::string("s.json: /stages/") + stage +
                                       "/lora: /targets/0: no product \"q_prj\" in this model"),
              std::string::npos)
        << stage_problem(json);
  }
}

}  // namespace
}  // namespace nb
