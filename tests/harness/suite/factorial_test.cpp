#include "harness/suite/factorial.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/suite/load.hpp"

namespace nb {
namespace {

Json experiment_suite() {
  return Json::parse(R"({
    "name": "x",
    "devices": ["ascend_910b3"],
    "corpus": {"microworld": {"documents": 50}},
    "tokenizer": {"vocab_size": 300},
    "stages": {"base": {"depth": 2, "sequence_len": 32, "device_batch_size": 2,
                        "total_batch_tokens": 128, "iterations": 4}},
    "factorial": {"low": "gpu", "high": "npu", "factors": [
      {"name": "depth", "high": {"/stages/base/depth": 1}},
      {"name": "tokens", "high": {"/stages/base/iterations": 3}},
      {"name": "betas", "defects": ["adamw_betas"]},
      {"name": "scale", "defects": ["no_lr_scale"]}],
     "generators": ["D=ABC"]}
  })");
}

std::string experiment_problem(const Json& json) {
  const auto suite = parse_suite(json, "s.json");
  return suite ? "" : suite.error().message;
}

void expect_problem(const Json& json, const std::string& sentence) {
  const std::string message = experiment_problem(json);
  EXPECT_NE(message.find(sentence), std::string::npos) << message;
}

TEST(Factorial, ArmsFollowTheGenerators) {
  const auto suite = parse_suite(experiment_suite(), "s.json");
  ASSERT_TRUE(suite) << suite.error().message;
  std::vector<std::string> names;
  for (const Suite& configuration : suite->configurations)
    names.push_back(configuration.devices[0].name);
  // D is high where one or all three of A, B and C are.
  EXPECT_EQ(names, (std::vector<std::string>{"gpu", "ascend_910b3.ad", "ascend_910b3.bd",
                                             "ascend_910b3.ab", "ascend_910b3.cd",
                                             "ascend_910b3.ac", "ascend_910b3.bc", "npu"}));
}

TEST(Factorial, AnArmHasItsSettingsDefectsAndLevels) {
  const auto suite = parse_suite(experiment_suite(), "s.json");
  ASSERT_TRUE(suite) << suite.error().message;
  const Suite &low = suite->configurations.front(), &ad = suite->configurations[1];
  EXPECT_EQ(low.stages.base->settings.depth, 2);
  EXPECT_TRUE(low.devices[0].defects.empty());
  EXPECT_EQ(ad.stages.base->settings.depth, 1);
  EXPECT_EQ(ad.stages.base->settings.iterations, 4);
  EXPECT_EQ(ad.devices[0].defects, (std::vector<std::string>{"no_lr_scale"}));
  EXPECT_EQ(ad.devices[0].factors,
            (std::vector<std::string>{"depth=high", "tokens=low", "betas=low", "scale=high"}));
}

TEST(Factorial, WithoutGeneratorsHasAllCombinations) {
  FactorialDesign design;
  design.factors = {{"a", {}, {"x"}}, {"b", {}, {"x"}}, {"c", {}, {"x"}}};
  const auto configurations = configurations_of(design, "s.json: /factorial");
  ASSERT_TRUE(configurations) << configurations.error().message;
  std::vector<std::string> names;
  for (const Configuration& configuration : *configurations) names.push_back(configuration.name);
  EXPECT_EQ(names, (std::vector<std::string>{"low", "a", "b", "ab", "c", "ac", "bc", "abc"}));
}

TEST(Factorial, RefusesGeneratorsThatAreNone) {
  for (const char* text : {"", "D", "D=", "D=AB C", "D=ABD", "D=AAB", "Z=ABC", "d=abc", "D=A"}) {
    Json json = experiment_suite();
    json["factorial"]["generators"] = {text};
    expect_problem(json, "s.json: /factorial/generators/0: \"" + std::string(text) +
                             "\" is not a generator; give one like \"E=ABC\"");
  }
}

TEST(Factorial, RefusesAnEvenGenerator) {
  Json json = experiment_suite();
  json["factorial"]["generators"] = {"D=AB"};
  expect_problem(json, "no configuration has every factor low");
}

TEST(Factorial, RefusesGeneratorsOfOneAnother) {
  Json json = experiment_suite();
  json["factorial"]["generators"] = {"D=ABC", "C=ABD"};
  expect_problem(json, "has a generator itself");
  json["factorial"]["generators"] = {"D=ABC", "D=ABC"};
  expect_problem(json, "D has a generator already");
  json["factorial"]["factors"].push_back({{"name", "e"}, {"defects", {"muon_as_adamw"}}});
  json["factorial"]["generators"] = {"D=ABC", "E=CBA"};
  expect_problem(json, "E would be high wherever D is");
}

TEST(Factorial, RefusesFactorsThatChangeNothing) {
  Json json = experiment_suite();
  json["factorial"]["factors"][0]["high"] = Json::object();
  expect_problem(json, "/factorial/factors/0: changes nothing; give \"high\"");
  json["factorial"]["factors"][0]["high"] = {{"/stages/base/depth", 2}};
  expect_problem(json,
                 "/factorial/factors/0: changes nothing: the suite is like that without depth");
}

TEST(Factorial, RefusesTwoFactorsOfOnePlace) {
  Json json = experiment_suite();
  json["factorial"]["factors"][1]["high"] = {{"/stages/base/depth", 3}};
  expect_problem(json, "/stages/base/depth: the factor depth sets it too");
}

TEST(Factorial, RefusesPlacesThatArmsShare) {
  for (const char* pointer :
       {"/seeds", "/name", "/devices/0/name", "/devices/0/defects", "depth"}) {
    Json json = experiment_suite();
    json["factorial"]["factors"][0]["high"] = {{pointer, 1}};
    expect_problem(json, std::string(pointer) + ": a factor sets a place in /stages");
  }
}

TEST(Factorial, SaysWhichArmIsWrong) {
  Json json = experiment_suite();
  json["factorial"]["factors"][0]["high"] = {{"/stages/base/dept", 1}};
  expect_problem(json, "s.json (configuration depth): /stages/base/dept: unknown key");
}

TEST(Factorial, NeedsOneDeviceAndATraining) {
  Json json = experiment_suite();
  json["devices"].push_back("h100_sxm");
  expect_problem(json, "/devices: 2 of them; an experiment has one");
  json = experiment_suite();
  json["microbenchmarks"] = {"matmul"};
  expect_problem(json, "microbenchmarks, predictions and probes have no part in it");
  json = experiment_suite();
  json["devices"] = {{{"profile", "ascend_910b3"}, {"factors", {"depth=low"}}}};
  json.erase("factorial");
  expect_problem(json, "/devices/0/factors: the configurations of /factorial have them");
}

TEST(Factorial, RefusesOneNameForTwoArms) {
  Json json = experiment_suite();
  json["factorial"]["high"] = "gpu";
  expect_problem(json, "another configuration is called \"gpu\"");
}

}  // namespace
}  // namespace nb
