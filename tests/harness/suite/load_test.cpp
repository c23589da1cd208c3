#include "harness/suite/load.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/suite/device_entry.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

Json small_suite() {
  return Json::parse(R"({
    "name": "small",
    "devices": ["ascend_910b3", {"name": "gpu", "profile": "h100_sxm"}],
    "corpus": {"microworld": {"documents": 50}},
    "tokenizer": {"vocab_size": 300},
    "stages": {"base": {"depth": 2, "sequence_len": 32, "device_batch_size": 2,
                        "total_batch_tokens": 128, "iterations": 3}},
    "evaluations": [{"name": "mw", "tasks": ["mw/facts"]}],
    "microbenchmarks": ["matmul"],
    "predictions": [{"depth": 20}]
  })");
}

// Message of the error that the changed suite gives; empty when it is accepted.
std::string problem_of(const Json& json) {
  const auto suite = parse_suite(json, "s.json");
  if (suite) return "";
  EXPECT_EQ(suite.error().code, ErrorCode::kBadInput);
  return suite.error().message;
}

TEST(Suite, ReadsShortAndLongDevices) {
  const auto suite = parse_suite(small_suite(), "s.json");
  ASSERT_TRUE(suite) << suite.error().message;
  ASSERT_EQ(suite->devices.size(), 2u);
  EXPECT_EQ(suite->devices[0].name, "ascend_910b3");
  EXPECT_EQ(suite->devices[0].profile, "ascend_910b3");
  EXPECT_EQ(suite->devices[1].name, "gpu");
  EXPECT_EQ(suite->microbenchmarks[0].name, "matmul");
  EXPECT_EQ(suite->stages.base->settings.iterations, 3);
}

TEST(Suite, UnknownKeyNamesPlaceAndNearestKey) {
  Json json = small_suite();
  json["stages"]["base"]["dept"] = 3;
  const std::string message = problem_of(json);
  EXPECT_NE(message.find("s.json: /stages/base"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean \"depth\""), std::string::npos) << message;
}

TEST(Suite, SeedInsideTheStageIsRefused) {
  Json json = small_suite();
  json["stages"]["base"]["seed"] = 3;  // /seeds is the place
  EXPECT_NE(problem_of(json), "");
}

TEST(Suite, UnknownDeviceNamesTheNearestProfile) {
  Json json = small_suite();
  json["devices"][0] = "ascend_910b33";
  const std::string message = problem_of(json);
  EXPECT_NE(message.find("s.json: /devices/0"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean \"ascend_910b3\""), std::string::npos) << message;
}

TEST(Suite, UnknownTaskNamesTheNearestOne) {
  Json json = small_suite();
  json["evaluations"][0]["tasks"][0] = "mw/fact";
  const std::string message = problem_of(json);
  EXPECT_NE(message.find("/evaluations/0/tasks"), std::string::npos) << message;
  EXPECT_NE(message.find("mw/facts"), std::string::npos) << message;
}

TEST(Suite, ValueOutOfRangeNamesTheRange) {
  Json json = small_suite();
  json["stages"]["base"]["depth"] = 0;
  const std::string message = problem_of(json);
  EXPECT_NE(message.find("/stages/base/depth"), std::string::npos) << message;
}

TEST(Suite, BatchThatDoesNotDivideNamesBothNumbersAndTheNearest) {
  Json json = small_suite();
  json["stages"]["base"]["total_batch_tokens"] = 150;  // micro-batch: 2 × 32
  const std::string message = problem_of(json);
  EXPECT_NE(message.find("/stages/base"), std::string::npos) << message;
  EXPECT_NE(message.find("150"), std::string::npos) << message;
  EXPECT_NE(message.find("64"), std::string::npos) << message;
  EXPECT_NE(message.find("128 or 192"), std::string::npos) << message;
}

TEST(Suite, RatesThatWouldRiseAndFallAtOnceNameBothRatios) {
  Json json = small_suite();
  json["stages"]["base"]["warmup_ratio"] = 0.6;
  json["stages"]["base"]["warmdown_ratio"] = 0.5;
  const std::string message = problem_of(json);
  EXPECT_NE(message.find("/stages/base: warmup_ratio 0.6 and warmdown_ratio 0.5"),
            std::string::npos)
      << message;
}

TEST(Suite, PredictionThatDoesNotDivideIsFoundToo) {
  Json json = small_suite();
  json["predictions"][0]["total_batch_tokens"] = 524289;
  EXPECT_NE(problem_of(json).find("/predictions/0"), std::string::npos);
}

TEST(Suite, NothingToRunIsAnError) {
  EXPECT_NE(problem_of(Json{{"name", "empty"}, {"devices", {"tiny"}}}).find("nothing to run"),
            std::string::npos);
}

TEST(Suite, EmptyDevicesAreAnError) {
  Json json = small_suite();
  json["devices"] = Json::array();
  EXPECT_NE(problem_of(json).find("/devices: empty"), std::string::npos);
}

TEST(Suite, EmptySeedsAreAnError) {
  Json json = small_suite();
  json["seeds"] = Json::array();
  EXPECT_NE(problem_of(json).find("/seeds"), std::string::npos);
}

TEST(Suite, DoubledNamesAreAnError) {
  Json json = small_suite();
  json["devices"][1]["name"] = "ascend_910b3";
  EXPECT_NE(problem_of(json).find("appears twice"), std::string::npos);
}

TEST(Suite, NameThatLeavesTheFolderIsAnError) {
  Json json = small_suite();
  json["name"] = "../up";
  EXPECT_NE(problem_of(json).find("/name"), std::string::npos);
}

TEST(Suite, EvaluationsWithoutTrainingAreAnError) {
  Json json = small_suite();
  json.erase("stages");
  EXPECT_NE(problem_of(json).find("/evaluations"), std::string::npos);
}

TEST(Suite, GeneratedTasksNeedTheGeneratedWorld) {
  Json json = small_suite();
  json["corpus"] = {{"text", {{"sources", {"text/english_novels"}}}}};
  EXPECT_NE(problem_of(json).find("needs /corpus/microworld"), std::string::npos);
}

// It meant all items, where its plan said none.
TEST(Suite, NoItemsPerTaskAreAnError) {
  Json json = small_suite();
  json["evaluations"][0]["max_per_task"] = 0;
  EXPECT_EQ(problem_of(json),
            "s.json: /evaluations/0/max_per_task: 0 items make no evaluation; leave it out to keep "
            "all items");
  for (const int accepted : {-1, 1}) {
    json["evaluations"][0]["max_per_task"] = accepted;
    EXPECT_EQ(problem_of(json), "");
  }
}

TEST(Suite, BothCorporaAreAnError) {
  Json json = small_suite();
  json["corpus"]["text"] = {{"sources", {"text/english_novels"}}};
  EXPECT_NE(problem_of(json).find("exactly one"), std::string::npos);
}

TEST(Suite, FileMayHoldComments) {
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "s.json", "// what it is\n" + small_suite().dump()));
  EXPECT_TRUE(load_suite(folder / "s.json"));
}

TEST(Suite, OverrideChangesOneValue) {
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "s.json", small_suite().dump()));
  const Override changes[] = {{"/stages/base/depth", "4"},
                              {"/devices/0/name", "npu"},
                              {"/evaluations/0/few_shot_seed", "9"}};
  const auto suite = load_suite(folder / "s.json", changes);
  ASSERT_TRUE(suite) << suite.error().message;
  EXPECT_EQ(suite->stages.base->settings.depth, 4);
  EXPECT_EQ(suite->devices[0].name, "npu");
  EXPECT_EQ(suite->evaluations[0].settings.few_shot_seed, 9u);
}

TEST(Suite, OverrideOfAnUnknownKeyIsAnError) {
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "s.json", small_suite().dump()));
  const Override unknown[] = {{"/stages/base/dept", "4"}};
  EXPECT_FALSE(load_suite(folder / "s.json", unknown));
}

// The library fills a list up to the number that is named: 3.4 GB for one that is not there.
TEST(Suite, AnOverrideMakesNoListLonger) {
  const auto said = [](const std::string& pointer) {
    const Override change[] = {{pointer, "1"}};
    const auto json = with_overrides({{"devices", {"tiny"}}, {"seeds", {1, 2}}}, change, "s");
    return json ? json->dump() : json.error().message;
  };
  EXPECT_EQ(said("/seeds/-"), R"({"devices":[{"profile":"tiny"}],"seeds":[1,2,1]})");
  EXPECT_EQ(said("/seeds/1"), R"({"devices":[{"profile":"tiny"}],"seeds":[1,1]})");
  EXPECT_EQ(said("/train/depth"),
            R"({"devices":[{"profile":"tiny"}],"seeds":[1,2],"train":{"depth":1}})");
  EXPECT_EQ(said("/train/-"), R"({"devices":[{"profile":"tiny"}],"seeds":[1,2],"train":[1]})");
  EXPECT_EQ(said("/devices/7/name"), "s: --set /devices/7/name: the list has 1 entries");
  EXPECT_EQ(said("/seeds/99999999999999999999"),
            "s: --set /seeds/99999999999999999999: the list has 2 entries");
  EXPECT_EQ(said("/train/214748364/depth"),
            "s: --set /train/214748364/depth: there is no list that could have a 214748364");
  EXPECT_EQ(said("/seeds/0/depth"), "s: --set /seeds/0/depth: no such place in this suite");
}

TEST(Suite, OverrideNeedsPointerAndValue) {
  EXPECT_FALSE(parse_override("depth=4"));
  EXPECT_FALSE(parse_override("/stages/base/depth"));
  EXPECT_FALSE(parse_override(""));
}

TEST(Suite, HelpNamesEveryKeyOfAFile) {
  const std::string help = suite_help();
  for (const char* key : {"devices", "seeds", "corpus", "microworld", "vocab_size", "base", "depth",
                          "evaluations", "few_shot_seed", "microbenchmarks", "predictions"})
    EXPECT_NE(help.find(key), std::string::npos) << key;
}

TEST(Suite, SuitesOfTheProjectParse) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("suites")) {
    if (entry.path().extension() != ".json") continue;
    const auto suite = load_suite(entry.path());
    EXPECT_TRUE(suite) << suite.error().message;
    ++count;
  }
  EXPECT_GE(count, 2);
}

TEST(DeviceEntry, PolicyOfAnotherProfileReplacesTheOwnOne) {
  DeviceEntry npu;
  npu.profile = "ascend_910b3";
  DeviceEntry mixed = npu;
  mixed.numerics = "h100_sxm";
  DeviceEntry gpu;
  gpu.profile = "h100_sxm";
  const auto a = resolve_device(npu, "a");
  const auto b = resolve_device(mixed, "b");
  const auto c = resolve_device(gpu, "c");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(b->profile.name(), "ascend_910b3");
  EXPECT_TRUE(b->profile.numerics == c->profile.numerics);
  EXPECT_NE(a->content, b->content);
}

TEST(DeviceEntry, AStackOfAUseChangesWhatIsLaunchedAndRounded) {
  DeviceEntry entry;
  entry.profile = "h100_sxm";
  const auto plain = resolve_device(entry, "s.json: /devices/0");
  entry.stacks = {{"score", "compiled"}};
  const auto device = resolve_device(entry, "s.json: /devices/0");
  ASSERT_TRUE(plain && device) << device.error().message;
  EXPECT_EQ(device->profile.numerics.of(Use::kScore).pointwise, Pointwise::kFused);
  EXPECT_EQ(device->profile.software.of(Use::kScore).mode.value, SoftwareMode::kCompiled);
  EXPECT_EQ(device->profile.numerics.of(Use::kGenerate).pointwise, Pointwise::kEager);
  EXPECT_EQ(device->profile.numerics.of(Use::kTrain).pointwise,
            plain->profile.numerics.of(Use::kTrain).pointwise);
  EXPECT_NE(device->content, plain->content);
}

TEST(DeviceEntry, AnUnknownUseOrStackIsAnError) {
  DeviceEntry entry;
  entry.profile = "h100_sxm";
  const auto message = [&](const std::string& use, const std::string& mode) {
    entry.stacks = {{use, mode}};
    const auto device = resolve_device(entry, "s.json: /devices/0");
    return device ? "" : device.error().message;
  };
  EXPECT_EQ(message("scores", "eager"),
            "s.json: /devices/0/stacks/scores: a model is run to train, score, generate or tune; "
            "did you mean \"score\"?");
  EXPECT_EQ(message("score", "fused"),
            "s.json: /devices/0/stacks/score: \"fused\" is neither eager nor compiled");
}

TEST(DeviceEntry, AnOverrideThatDecidesNothingIsAnError) {
  DeviceEntry entry;
  entry.profile = "ascend_910b3";
  entry.numerics_overrides = {{"split_k", "4"}};
  const auto device = resolve_device(entry, "s.json: /devices/0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message,
            "s.json: /devices/0/numerics_overrides/split_k: decides nothing here: it counts only "
            "where accumulation is split_k");
  entry.numerics_overrides["accumulation"] = "split_k";
  EXPECT_TRUE(resolve_device(entry, "s.json: /devices/0"));
}

TEST(Suite, AnOverrideThatNoCardCanShowIsAnError) {
  const test::TempDir folder;
  Json suite = small_suite();
  suite["devices"] = {{{"name", "x"},
                       {"profile", "ascend_910b3"},
                       {"numerics_overrides", {{"reduction_order", "ring"}}}}};
  ASSERT_TRUE(write_file(folder / "s.json", suite.dump()));
  const auto refused = load_suite(folder / "s.json");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(
                "/devices/0/numerics_overrides/reduction_order: decides nothing here: training and "
                "evaluation run on one card; only the microbenchmark all_reduce has several"),
            std::string::npos)
      << refused.error().message;
  suite["microbenchmarks"] = {"all_reduce"};
  ASSERT_TRUE(write_file(folder / "s.json", suite.dump()));
  EXPECT_TRUE(load_suite(folder / "s.json"));
}

TEST(DeviceEntry, OverrideOfOneFieldAppliesAndUnknownFieldsAreErrors) {
  DeviceEntry entry;
  entry.profile = "ascend_910b3";
  entry.numerics_overrides = {{"pointwise", "fused"}};
  const auto device = resolve_device(entry, "s.json: /devices/0");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->profile.numerics.pointwise, Pointwise::kFused);
  entry.numerics_overrides = {{"pointwis", "fused"}};
  const auto unknown = resolve_device(entry, "s.json: /devices/0");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("did you mean \"pointwise\""), std::string::npos);
}

}  // namespace
}  // namespace nb
