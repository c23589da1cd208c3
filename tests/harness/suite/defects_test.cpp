// What a suite may say of a port's defects.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/suite/check_defects.hpp"
#include "harness/suite/device_entry.hpp"
#include "harness/suite/load.hpp"

namespace nb {
namespace {

Json suite_with(const Json& defects) {
  Json json = Json::parse(R"({
    "name": "port",
    "devices": [{"profile": "ascend_910b3"}],
    "corpus": {"microworld": {"documents": 50}},
    "tokenizer": {"vocab_size": 300},
    "stages": {"base": {"depth": 2, "sequence_len": 32, "device_batch_size": 2,
                        "total_batch_tokens": 128, "iterations": 4}},
    "evaluations": [{"name": "mw", "tasks": ["mw/facts"]}]
  })");
  json["devices"][0]["defects"] = defects;
  return json;
}

std::string defect_problem(const Json& json) {
  const auto suite = parse_suite(json, "s.json");
  return suite ? "" : suite.error().message;
}

TEST(SuiteDefects, AreRead) {
  const auto suite = parse_suite(suite_with({"half_batch", "adamw_betas"}), "s.json");
  ASSERT_TRUE(suite) << suite.error().message;
  EXPECT_EQ(suite->devices[0].defects, (std::vector<std::string>{"half_batch", "adamw_betas"}));
  EXPECT_EQ(defects_of(suite->devices[0]).names(),
            (std::vector<std::string>{"adamw_betas", "half_batch"}));  // the table's order
}

TEST(SuiteDefects, WithoutAnyADeviceSaysNothingOfThem) {
  const auto suite = parse_suite(suite_with(Json::array()), "s.json");
  ASSERT_TRUE(suite) << suite.error().message;
  EXPECT_FALSE(print_struct(suite->devices[0]).contains("defects"));
}

TEST(SuiteDefects, UnknownOneNamesTheNearest) {
  const std::string message = defect_problem(suite_with({"adamw_beta"}));
  EXPECT_NE(message.find("s.json: /devices/0/defects/0: no defect \"adamw_beta\"; did you mean "
                         "\"adamw_betas\"?"),
            std::string::npos)
      << message;
}

TEST(SuiteDefects, NamedTwiceIsAnError) {
  EXPECT_NE(defect_problem(suite_with({"half_steps", "half_steps"})).find("twice"),
            std::string::npos);
}

TEST(SuiteDefects, OneThatConcernsNothingIsAnError) {
  EXPECT_EQ(defect_problem(suite_with({"loss_mask_ignored"})),
            "s.json: /devices/0/defects: loss_mask_ignored: changes nothing: it concerns sft, rl, "
            "and this suite has base, score; DPO's pairs share their prompt, which falls out of "
            "their difference; BASE and MID train on every token as they are");
  Json json = suite_with({"low_precision_gradients"});
  json["stages"]["base"]["device_batch_size"] = 4;  // one micro-batch
  EXPECT_NE(defect_problem(json).find("no stage has more than one micro-batch"), std::string::npos);
}

// DPO alone behind BASE: what it does not read is refused with the reason, the rest is taken.
TEST(SuiteDefects, DpoTakesWhatConcernsIt) {
  const auto with_dpo = [](const char* defect) {
    Json json = suite_with({defect});
    const Json rows = Json::array({{{"task", "mw/gsm8k_pairs"}, {"size", 64}}});
    json["stages"]["dpo"] = {{"train", rows}, {"validation", rows}};
    return json;
  };
  for (const char* defect :
       {"half_steps", "half_batch", "targets_off_by_one", "low_precision_gradients"})
    EXPECT_EQ(defect_problem(with_dpo(defect)), "") << defect;
  EXPECT_NE(defect_problem(with_dpo("loss_mask_ignored"))
                .find("loss_mask_ignored: changes nothing: it concerns sft, rl, and this suite has "
                      "base, dpo, score; DPO's pairs share their prompt"),
            std::string::npos)
      << defect_problem(with_dpo("loss_mask_ignored"));
  Json odd = with_dpo("half_batch");
  odd["stages"]["dpo"]["device_batch_size"] = 1;
  odd["stages"]["dpo"]["target_examples_per_step"] = 7;
  EXPECT_NE(defect_problem(odd).find("half_batch: /stages/dpo: a batch of 7 has no half"),
            std::string::npos)
      << defect_problem(odd);
}

TEST(SuiteDefects, OneThatTheDeviceIsLikeAnywayIsAnError) {
  Json json = suite_with({"score_compiled"});
  EXPECT_EQ(defect_problem(json), "");
  json["devices"][0]["stacks"] = {{"score", "compiled"}};
  EXPECT_NE(defect_problem(json).find("which stacks or another defect sets already"),
            std::string::npos)
      << defect_problem(json);
  EXPECT_NE(defect_problem([] {
              Json cpu = suite_with({"no_autocast"});
              cpu["devices"][0]["numerics_overrides"] = {{"matmul_inputs", "tf32"}};
              return cpu;
            }())
                .find("sets matmul_inputs too"),
            std::string::npos);
}

TEST(SuiteDefects, ABatchWithoutAHalfIsAnError) {
  Json json = suite_with({"half_batch"});
  EXPECT_EQ(defect_problem(json), "");
  json["stages"]["base"]["device_batch_size"] = 4;
  EXPECT_NE(defect_problem(json).find("half_batch: /stages/base: total_batch_tokens 64"),
            std::string::npos)
      << defect_problem(json);
}

TEST(SuiteDefects, ThoseOfNumericsAreInTheDevicesPolicy) {
  DeviceEntry entry;
  entry.profile = "ascend_910b3";
  const auto right = resolve_device(entry, "d");
  entry.defects = {"no_autocast", "score_compiled", "adamw_betas"};
  const auto wrong = resolve_device(entry, "d");
  ASSERT_TRUE(right && wrong) << wrong.error().message;
  EXPECT_EQ(differing_entries(right->profile.numerics, wrong->profile.numerics),
            (std::vector<std::string>{"matmul_inputs", "score_pointwise", "weight_gradient"}));
  EXPECT_NE(right->content, wrong->content);
}

}  // namespace
}  // namespace nb
