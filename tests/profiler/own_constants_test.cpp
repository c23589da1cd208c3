// predict --calibration FILE beside everything that predict shows: constants of the user's own
// machine go into each prediction of that machine, and into no other.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

class OwnConstants : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(file_,
                           R"({"schema": "npubench.calibration/1", "device": "ascend_910b3",)"
                           R"( "constants": [{"name": "memory_efficiency", "value": 0.4},)"
                           R"( {"name": "matrix_efficiency", "value": 0.5}]})"));
  }
  // predict … with the constants, and without.
  Json predicted(std::vector<std::string> words, bool is_own) const {
    words.insert(words.begin(), "predict");
    words.emplace_back("--json");
    if (is_own) words.insert(words.end(), {"--calibration", file_.string()});
    const auto result = bench_(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err.find("memory_efficiency 0.4, matrix_efficiency 0.5 in place") !=
                  std::string::npos,
              is_own)
        << result.err;
    auto json = parse_json(result.out, "stdout");
    return json ? *json : Json::object();
  }

  Bench bench_;
  fs::path file_ = bench_.results() / "my.json";
  const std::vector<std::string> small_ = {"--device", "ascend_910b3", "--depth", "4"};
};

TEST_F(OwnConstants, AreInEveryPointOfASweep) {
  std::vector<std::string> words = small_;
  words.insert(words.begin(), {"sweep", "cards=1,2"});
  const Json sweep = predicted(words, true), shipped = predicted(words, false);
  for (int i = 0; i < 2; ++i) {
    words = small_;
    words.insert(words.end(), {"--cards", i == 0 ? "1" : "2"});
    const Json one = predicted(words, true);
    const Json& point = sweep.at("points").at(i).at("prediction");
    EXPECT_EQ(point.at("throughput_tok_s"), one.at("throughput_tok_s"));
    EXPECT_LT(point.at("throughput_tok_s").get<double>(),
              shipped.at("points").at(i).at("prediction").at("throughput_tok_s").get<double>());
  }
  words = {"sweep", "device=ascend_910b3,h100_sxm", "--depth", "4", "--device", "ascend_910b3"};
  words.insert(words.begin(), "predict");
  words.insert(words.end(), {"--calibration", file_.string()});
  const auto devices = bench_(words);  // a cell says why, the others stand
  EXPECT_EQ(devices.exit_code, 0);
  EXPECT_NE(devices.out.find("is of ascend_910b3, not of h100_sxm"), std::string::npos)
      << devices.out;
}

TEST_F(OwnConstants, AreInAMegatronStep) {
  const std::vector<std::string> words = {
      "--device", "ascend_910b3", "--model", "llama2-7b", "--tp", "8", "--ranks", "8"};
  EXPECT_GT(predicted(words, true).at("step_time_ns").get<double>(),
            1.1 * predicted(words, false).at("step_time_ns").get<double>());
}

TEST_F(OwnConstants, AreWhatClaimsAreJudgedBy) {
  const fs::path table = bench_.results() / "table.json";
  ASSERT_TRUE(write_file(
      table,
      R"({"schema": "npubench.table/1", "runs": [{"name": "a", "stages": [{"name": "Base",)"
      R"( "facts": {"depth": "4", "cards": "1", "device_batch": "4", "tok_s": "100000"}}]}]})"));
  const std::vector<std::string> words = {"claims", table.string(), "--device", "ascend_910b3"};
  const Json own = predicted(words, true).at("claims");
  const Json shipped = predicted(words, false).at("claims");
  ASSERT_EQ(own.size(), 1U);
  EXPECT_LT(own.at(0).at("predicted_value").get<double>(),
            shipped.at(0).at("predicted_value").get<double>());
}

TEST_F(OwnConstants, StandBesideTheShippedOnesInEveryPublishedRow) {
  const Json own = predicted({"validate"}, true);
  const Json shipped = Json::parse(bench_({"predict", "validate", "--json"}).out);
  int changed = 0, rows = 0;
  for (std::size_t g = 0; g < own.at("groups").size(); ++g)
    for (std::size_t i = 0; i < own.at("groups").at(g).at("rows").size(); ++i) {
      const Json& one = own.at("groups").at(g).at("rows").at(i);
      const Json& other = shipped.at("groups").at(g).at("rows").at(i);
      if (!one.contains("error_shipped")) {
        EXPECT_EQ(one, other);
        continue;
      }
      EXPECT_EQ(one.at("machine"), "ascend_910b3");
      EXPECT_EQ(one.at("error_shipped"), other.at("error"));
      ++rows;
      changed += one.at("error") != other.at("error") ? 1 : 0;
    }
  EXPECT_GT(rows, 30);
  EXPECT_GT(changed, rows / 2);
  EXPECT_EQ(own.at("constants"), shipped.at("constants"));
  expect_sentence(bench_({"predict", "calibrate", "--calibration", file_.string()}), 64,
                  {"`predict calibrate` fits the families on a folder of rows"});
}

}  // namespace
}  // namespace nb::test
