// predict claims as a user runs it: published figures beside dry steps.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

std::map<std::string, std::string> verdicts(const Bench& bench, const std::string& table,
                                            const std::string& device) {
  const auto result = bench({"predict", "claims", table, "--device", device, "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, std::string> found;
  const auto json = parse_json(result.out, "stdout");
  if (!json) return found;
  for (const Json& claim : json->at("claims"))
    found[claim.at("row").get<std::string>() + " " + claim.at("what").get<std::string>()] =
        claim.at("verdict").get<std::string>();
  return found;
}

// What a closed form fitted on other runs says of the same cells: rates 29 times too low, memory
// too low from d10 on, 20 sequences of a d16 on no card of 64 GB, one figure that was measured.
TEST(PredictClaims, TheGuidesFiguresAreWhatTheyWereFoundToBe) {
  const Bench bench;
  const auto memory = verdicts(bench, "published:seed_memory", "ascend_910b3");
  EXPECT_EQ(memory.at("README d8 memory"), "plausible");
  for (const char* row : {"README d10", "README d12", "README d14", "script d20"})
    EXPECT_EQ(memory.at(row + std::string(" memory")), "low") << row;
  EXPECT_EQ(memory.at("script d16 memory"), "IMPOSSIBLE");
  EXPECT_EQ(memory.at("quick test, measured memory"), "plausible");
  const auto rates = verdicts(bench, "published:seed_throughput", "ascend_910b3");
  for (const char* row : {"Base, 1 card", "Base, 8 cards", "Mid, 8 cards", "SFT, 8 cards"})
    EXPECT_EQ(rates.at(row + std::string(" rate")), "low") << row;
  EXPECT_EQ(rates.at("Base, 8 cards memory"), "low");
  // The times of the same guide are of the right order: its rates are wrong, not its hours.
  EXPECT_EQ(rates.at("4 x d12 time"), "plausible");
  EXPECT_EQ(rates.at("8 x d12 time"), "plausible");
}

TEST(PredictClaims, WhatNoCardCanDoIsImpossible) {
  const Bench bench;
  const TempDir folder;
  const auto table = [&](const std::string& facts) {
    const fs::path file = folder / "table.json";
    EXPECT_TRUE(write_file(
        file, R"({"schema": "npubench.table/1", "runs": [{"name": "a", "stages": [{"name": "Base",)"
              R"( "facts": {)" +
                  facts + "}}]}]}"));
    return file.string();
  };
  const std::string run = R"("depth": "12", "cards": "8", "device_batch": "4", )";
  const auto verdict = [&](const std::string& fact) {
    return verdicts(bench, table(run + fact), "ascend_910b3").begin()->second;
  };
  // 8 x 294.912 TFLOP/s allow 2.27 million tokens of 1.04 GFLOP a second.
  EXPECT_EQ(verdict(R"("tok_s": "9,000,000")"), "IMPOSSIBLE");
  EXPECT_EQ(verdict(R"("tok_s": "1,500,000")"), "high");
  EXPECT_EQ(verdict(R"("peak_bytes": "0.5 GiB")"), "IMPOSSIBLE");  // less than the weights alone
  EXPECT_EQ(verdict(R"("peak_bytes": "50 GiB")"), "high");
  EXPECT_EQ(verdict(R"("minutes": "2 min", "tokens_per_parameter": "20")"), "IMPOSSIBLE");
  // Faster than predicted, slower than the peak: the time is too short; or too long.
  EXPECT_EQ(verdict(R"("minutes": "55 min", "tokens_per_parameter": "20")"), "low");
  EXPECT_EQ(verdict(R"("minutes": "600 min", "tokens_per_parameter": "20")"), "high");
  expect_sentence(
      bench({"predict", "claims", table(R"("tok_s": "1,000")"), "--device", "ascend_910b3"}), 64,
      {"no row with a depth and a rate, memory or time", "no depth"});
  expect_sentence(bench({"predict", "claims", "published:seed_memry", "--device", "ascend_910b3"}),
                  64, {"seed_memory"});
}

// A rate of 16 cards that counts short rows as full ones: 382 TFLOP/s on dies of 364. The table
// names no depth, and its numbers stand on the run.
TEST(PredictClaims, AModelOfMegatronsKindIsJudgedByItsClosedForm) {
  const Bench bench;
  const TempDir folder;
  const fs::path model = folder / "m8.json", table = folder / "claims.json";
  ASSERT_TRUE(write_file(model, R"({"layers": 36, "width": 4096, "hidden": 12288, "heads": 32,
      "kv_heads": 8, "head_dim": 128, "vocab": 151936})"));
  const auto judged = [&](const std::string& facts, const std::string& cards) {
    EXPECT_TRUE(write_file(table, R"({"schema": "npubench.table/1", "runs": [{"name": "sft",
        "device": "Huawei Ascend 910C", "facts": {"cards": "16", "total_batch_tokens": "2097152", )" +
                                      facts + "}}]}"));
    return bench({"predict", "claims", table.string(), "--device", "ascend_910c", "--model",
                  model.string(), "--tp", "2", "--pp", "2", "--cards", cards, "--device-batch-size",
                  "2", "--json"});
  };
  const auto verdict = [&](const std::string& facts) {
    const auto result = judged(facts, "16");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto json = parse_json(result.out, "stdout");
    return json ? json->at("claims")[0].at("verdict").get<std::string>() : "";
  };
  EXPECT_EQ(verdict(R"("tok_s": "124262")"), "IMPOSSIBLE");
  EXPECT_EQ(verdict(R"("tok_s": "90000")"), "high");
  EXPECT_EQ(verdict(R"("tok_s": "37000")"), "plausible");
  EXPECT_EQ(verdict(R"("minutes": "60 min", "tokens": "447343200")"), "IMPOSSIBLE");
  EXPECT_EQ(verdict(R"("peak_bytes": "1 GiB")"), "IMPOSSIBLE");
  expect_sentence(judged(R"("tok_s": "124262")", "8"), 64,
                  {"cards is 16 in the table, 8 on the command line"});
}

}  // namespace
}  // namespace nb::test
