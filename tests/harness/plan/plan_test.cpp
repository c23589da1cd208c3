#include "harness/plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/plan/expectation.hpp"
#include "harness/plan/node_kinds.hpp"
#include "harness/suite/load.hpp"

namespace nb {
namespace {

Json small_suite() {
  return Json::parse(R"({
    "name": "small",
    "devices": ["ascend_910b3", "h100_sxm"],
    "seeds": [1, 2],
    "corpus": {"microworld": {"documents": 50}},
    "tokenizer": {"vocab_size": 300},
    "stages": {"base": {"depth": 2, "sequence_len": 32, "device_batch_size": 2,
                        "total_batch_tokens": 128, "iterations": 3}},
    "evaluations": [{"name": "mw", "tasks": ["mw/facts"]}],
    "microbenchmarks": ["matmul"],
    "predictions": [{"depth": 20}]
  })");
}

Plan plan_of(const Json& json, const std::vector<std::string>& faults = {}) {
  auto suite = parse_suite(json, "s.json");
  EXPECT_TRUE(suite) << suite.error().message;
  auto plan = make_plan(*suite, {"/nowhere", faults}, "s.json");
  EXPECT_TRUE(plan) << plan.error().message;
  return std::move(*plan);
}

std::string key_of(const Plan& plan, const std::string& name) {
  const auto i = plan.find(name);
  EXPECT_TRUE(i) << i.error().message;
  return i ? plan.nodes[*i].key : "";
}

const std::string kTrain = "train-base-ascend_910b3-s1";
const std::string kEval = "eval-base.mw-ascend_910b3-s1";

TEST(Plan, ExpandsDevicesTimesSeeds) {
  const Plan plan = plan_of(small_suite());
  // corpus, tokenizer, shards; 2 devices × (2 seeds × (train, eval) + micro + predict)
  EXPECT_EQ(plan.nodes.size(), 3u + 2 * (2 * 2 + 2));
  std::set<std::string> names, keys;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    names.insert(plan.nodes[i].name);
    keys.insert(plan.nodes[i].key);
    for (const std::size_t parent : plan.nodes[i].parents) EXPECT_LT(parent, i);
  }
  EXPECT_EQ(names.size(), plan.nodes.size());
  EXPECT_EQ(keys.size(), plan.nodes.size());
}

Json experiment_plan() {
  Json json = small_suite();
  json["devices"] = {"ascend_910b3"};
  json.erase("microbenchmarks");
  json.erase("predictions");
  json["factorial"] = Json::parse(R"({"factors": [
    {"name": "depth", "high": {"/stages/base/depth": 1}},
    {"name": "words", "high": {"/corpus/microworld/documents": 40}}]})");
  return json;
}

TEST(Plan, ArmsShareWhatNoFactorChanges) {
  const Plan plan = plan_of(experiment_plan());
  // Two corpora with tokenizer and shards; 4 configurations × 2 seeds × (train, eval).
  EXPECT_EQ(plan.nodes.size(), 2 * 3u + 4 * 2 * 2);
  const auto parents_of = [&](const std::string& name) {
    return plan.nodes[plan.find(name).value()].parents;
  };
  EXPECT_EQ(parents_of("train-base-all_low-s1"), parents_of("train-base-ascend_910b3.a-s2"));
  EXPECT_NE(parents_of("train-base-all_low-s1"), parents_of("train-base-all_high-s1"));
  std::set<std::string> names;
  for (const Node& node : plan.nodes) names.insert(node.name);
  EXPECT_EQ(names.size(), plan.nodes.size());
}

TEST(Plan, PredictionsOfAStageAreNamedByIt) {
  Json json = small_suite();
  json["predictions"] = Json::parse(
      R"([{"depth": 20}, {"depth": 20, "stage": "sft", "device_batch_size": 4, "row_tokens": 512}])");
  const Plan plan = plan_of(json);
  EXPECT_TRUE(plan.find("predict-d20-c8-h100_sxm"));
  EXPECT_TRUE(plan.find("predict-sft-d20-c8-b4-h100_sxm"));
}

TEST(Plan, SameSuiteSameKeys) {
  const Plan a = plan_of(small_suite());
  const Plan b = plan_of(small_suite());
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) EXPECT_EQ(a.nodes[i].key, b.nodes[i].key);
}

TEST(Plan, TrainingSettingChangesTrainingAndEvaluationOnly) {
  Json json = small_suite();
  json["stages"]["base"]["matrix_lr"] = 0.03;
  const Plan a = plan_of(small_suite());
  const Plan b = plan_of(json);
  EXPECT_NE(key_of(a, kTrain), key_of(b, kTrain));
  EXPECT_NE(key_of(a, kEval), key_of(b, kEval));
  EXPECT_EQ(key_of(a, "tokenizer"), key_of(b, "tokenizer"));
  EXPECT_EQ(key_of(a, "shards"), key_of(b, "shards"));
  EXPECT_EQ(key_of(a, "micro-matmul-h100_sxm"), key_of(b, "micro-matmul-h100_sxm"));
}

TEST(Plan, CorpusChangesEverythingThatLearnsFromIt) {
  Json json = small_suite();
  json["corpus"]["microworld"]["seed"] = 9;
  const Plan a = plan_of(small_suite());
  const Plan b = plan_of(json);
  for (const std::string& name : std::vector<std::string>{"tokenizer", "shards", kTrain, kEval})
    EXPECT_NE(key_of(a, name), key_of(b, name)) << name;
}

TEST(Plan, EvaluationBatchSizeChangesNoKey) {
  Json json = small_suite();
  json["evaluations"][0]["batch_size"] = 3;
  EXPECT_EQ(key_of(plan_of(small_suite()), kEval), key_of(plan_of(json), kEval));
}

TEST(Plan, FewShotSeedChangesTheEvaluationButNotTheTraining) {
  Json json = small_suite();
  json["evaluations"][0]["few_shot_seed"] = 99;
  EXPECT_NE(key_of(plan_of(small_suite()), kEval), key_of(plan_of(json), kEval));
  EXPECT_EQ(key_of(plan_of(small_suite()), kTrain), key_of(plan_of(json), kTrain));
}

TEST(Plan, PolicyOfTheDeviceChangesTheKey) {
  Json json = small_suite();
  json["devices"][0] = {
      {"name", "ascend_910b3"}, {"profile", "ascend_910b3"}, {"numerics", "h100_sxm"}};
  EXPECT_NE(key_of(plan_of(small_suite()), kTrain), key_of(plan_of(json), kTrain));
}

TEST(Plan, PlantedFaultConcernsTheEvaluationsOfItsTask) {
  const Plan a = plan_of(small_suite());
  const Plan b = plan_of(small_suite(), {"second_best:mw/facts"});
  EXPECT_EQ(key_of(a, kTrain), key_of(b, kTrain));
  EXPECT_NE(key_of(a, kEval), key_of(b, kEval));
}

TEST(Plan, FaultOfATaskThatIsNotEvaluatedIsAnError) {
  const auto suite = parse_suite(small_suite(), "s.json");
  ASSERT_TRUE(suite);
  EXPECT_FALSE(make_plan(*suite, {"/nowhere", {"second_best:arc_easy"}}, "s.json"));
  EXPECT_FALSE(make_plan(*suite, {"/nowhere", {"third_best:mw/facts"}}, "s.json"));
}

TEST(Plan, FindsByNameAndByStartOfKey) {
  const Plan plan = plan_of(small_suite());
  EXPECT_EQ(*plan.find(kTrain), *plan.find(key_of(plan, kTrain).substr(0, 10)));
  const auto unknown = plan.find("train-base-ascend_910b3-s3");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("did you mean"), std::string::npos);
}

TEST(Plan, MissingTextSourceNamesTheNearestOne) {
  Json json = small_suite();
  json["corpus"] = {{"text", {{"sources", {"text/english_novel"}}}}};
  json["evaluations"] = Json::array();
  const auto suite = parse_suite(json, "s.json");
  ASSERT_TRUE(suite) << suite.error().message;
  const auto plan = make_plan(*suite, {"/nowhere", {}}, "s.json");
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("text/english_novels"), std::string::npos)
      << plan.error().message;
}

TEST(NodeKinds, EveryKindHasCode) {
  for (std::size_t i = 0; i < kNodeKindCount; ++i) {
    const auto kind = static_cast<NodeKind>(i);
    EXPECT_EQ(code_digest(kind).size(), 64u) << info(kind).name;
    EXPECT_TRUE(code_digests(kind).contains("harness/base")) << info(kind).name;
  }
}

TEST(NodeKinds, TrainingLinksTheKernelsButNoEvaluators) {
  const auto& train = code_digests(NodeKind::kTrain);
  for (const char* folder :
       {"model/kernels", "model/device", "model/train", "model/optim", "model/decoder",
        "model/data", "model/tokenizer", "compiler and flags"})
    EXPECT_TRUE(train.contains(folder)) << folder;
  EXPECT_FALSE(train.contains("evals"));
  EXPECT_TRUE(code_digests(NodeKind::kEval).contains("evals"));
  EXPECT_EQ(code_digest(NodeKind::kEval), code_digest(NodeKind::kAsk));
}

TEST(Plan, CheckpointEveryChangesNoKey) {
  Json json = small_suite();
  json["stages"]["base"]["checkpoint_every"] = 1;
  const Plan often = plan_of(json);
  json["stages"]["base"]["checkpoint_every"] = 3;
  const Plan seldom = plan_of(json);
  ASSERT_EQ(often.nodes.size(), seldom.nodes.size());
  for (std::size_t i = 0; i < often.nodes.size(); ++i)
    EXPECT_EQ(often.nodes[i].key, seldom.nodes[i].key) << often.nodes[i].name;
}

TEST(Plan, AnEvaluationAtSeveralStepsIsANodeEach) {
  Json json = small_suite();
  const Plan last_only = plan_of(json);
  json["evaluations"][0]["steps"] = {2, 0, 2};
  const Plan plan = plan_of(json);
  std::vector<std::string> labels;
  for (const Node& node : plan.nodes)
    if (const auto* work = std::get_if<EvalWork>(&node.work)) {
      labels.push_back(node.label);
      EXPECT_EQ(work->step.has_value(), node.label.find('@') != std::string::npos);
    } else if (const auto* train = std::get_if<TrainWork>(&node.work)) {
      EXPECT_EQ(train->keep_steps(), (std::vector<std::int64_t>{0, 2}));
    }
  const std::string name = json["evaluations"][0]["name"];
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "base@0." + name),
            std::count(labels.begin(), labels.end(), "base." + name));
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "base@2." + name),
            std::count(labels.begin(), labels.end(), "base." + name));
}

TEST(Plan, StagesFollowEachOtherAndShareTheSeed) {
  Json json = small_suite();
  const Json pairs = Json::parse(R"([{"task": "mw/mmlu_pairs", "size": 40}])");
  const Json talk = Json::parse(R"([{"task": "mw/talk", "size": 40}])");
  json["stages"]["sft"] = {{"train", talk}, {"validation", talk}, {"lora", {{"rank", 4}}}};
  json["stages"]["dpo"] = {{"train", pairs}, {"validation", pairs}};
  const Plan plan = plan_of(json);
  const auto place = [&](const char* name) { return plan.find(name).value(); };
  const Node& sft = plan.nodes[place("train-sft-ascend_910b3-s2")];
  const Node& dpo = plan.nodes[place("train-dpo-ascend_910b3-s2")];
  EXPECT_EQ(sft.parents[0], place("train-base-ascend_910b3-s2"));
  EXPECT_EQ(dpo.parents[0], place("train-sft-ascend_910b3-s2"));
  EXPECT_EQ(std::get<TrainWork>(sft.work).sft->lora->seed, 2);
  EXPECT_TRUE(std::get<TrainWork>(sft.work).trains_adapters());
  EXPECT_EQ(std::get<TrainWork>(dpo.work).kind(), TrainingStage::kDpo);
  json["stages"]["sft"]["lora"]["seed"] = 7;
  const Plan own = plan_of(json);
  EXPECT_EQ(std::get<TrainWork>(own.nodes[place("train-sft-ascend_910b3-s2")].work).sft->lora->seed,
            7);
}

TEST(Plan, AStepBeyondTheTrainingIsRefused) {
  Json json = small_suite();
  json["stages"]["base"]["iterations"] = 4;
  json["stages"]["base"]["keep_steps"] = {0, 5};
  const auto suite = parse_suite(json, "s.json");
  ASSERT_FALSE(suite);
  EXPECT_NE(suite.error().message.find("keep_steps: 5: the training has the steps 0 to 4"),
            std::string::npos)
      << suite.error().message;
}

TEST(Expectation, GrowsWithTheWork) {
  Json json = small_suite();
  const Plan small = plan_of(json);
  json["stages"]["base"]["iterations"] = 300;
  const Plan large = plan_of(json);
  const std::size_t train = *small.find(kTrain);
  EXPECT_GT(expect(large, train, 1e11).time_s, expect(small, train, 1e11).time_s);
  EXPECT_GT(expect(small, train, 1e10).time_s, expect(small, train, 1e11).time_s);
  for (std::size_t i = 0; i < small.nodes.size(); ++i) {
    EXPECT_GT(expect(small, i, 1e11).time_s, 0) << small.nodes[i].name;
    EXPECT_GT(expect(small, i, 1e11).memory_bytes, 0u) << small.nodes[i].name;
  }
}

Node node_of(const std::string& name, const std::string& key) {
  Node node;
  node.name = name;
  node.key = key + std::string(64 - key.size(), '0');
  return node;
}

TEST(Plan, FourDigitsOfAKeyFindItsNode) {
  Plan plan;
  plan.nodes = {node_of("train-a", "3f2a11"), node_of("train-b", "3f2b22"),
                node_of("eval-a", "9c0d33")};
  EXPECT_EQ(plan.find("9c0d").value(), 2u);
  EXPECT_EQ(plan.find("3f2b").value(), 1u);
  EXPECT_EQ(plan.find("train-a").value(), 0u);
  EXPECT_FALSE(plan.find("9c0"));  // too few
}

TEST(Plan, SeveralNodesOfOneKeyPrefixAreNamed) {
  Plan plan;
  plan.nodes = {node_of("train-a", "3f2a11"), node_of("train-b", "3f2a22")};
  const auto found = plan.find("3f2a");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "2 nodes have keys that begin with 3f2a; give more digits or the name:\n"
            "  3f2a11000000 train-a\n"
            "  3f2a22000000 train-b");
}

// Keys of the suite's training, evaluation and microbenchmark with that defect on the first device.
struct DefectKeys {
  std::string train, eval, micro;
};
DefectKeys keys_with(const Json& defects) {
  Json json = small_suite();
  json["devices"][0] = {{"profile", "ascend_910b3"}, {"defects", defects}};
  const Plan plan = plan_of(json);
  return {key_of(plan, kTrain), key_of(plan, kEval), key_of(plan, "micro-matmul-ascend_910b3")};
}

TEST(PlanDefects, ConcernTheNodesThatTheyChange) {
  const DefectKeys right = keys_with(Json::array());
  EXPECT_EQ(right.train, key_of(plan_of(small_suite()), kTrain));
  const DefectKeys training = keys_with({"adamw_betas"});
  EXPECT_NE(training.train, right.train);
  EXPECT_NE(training.eval, right.eval);  // its parent is another
  EXPECT_EQ(training.micro, right.micro);
  for (const char* name :
       {"rope_positions", "tokenizer_mismatch", "evaluator_fallback", "score_compiled"}) {
    const DefectKeys evaluation = keys_with({name});
    EXPECT_EQ(evaluation.train, right.train) << name;
    EXPECT_NE(evaluation.eval, right.eval) << name;
    EXPECT_EQ(evaluation.micro, right.micro) << name;
  }
  const DefectKeys numerics = keys_with({"no_autocast"});
  EXPECT_NE(numerics.train, right.train);
  EXPECT_NE(numerics.micro, right.micro);
}

TEST(PlanDefects, TheirOrderChangesNoKey) {
  EXPECT_EQ(keys_with({"adamw_betas", "half_steps"}).train,
            keys_with({"half_steps", "adamw_betas"}).train);
}

}  // namespace
}  // namespace nb
