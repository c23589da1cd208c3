// Exit codes and outputs of `npubench audit` and `npubench list published`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

TEST(AuditVerb, ExitCodeSaysWhetherThereIsAFail) {
  const Bench bench;
  EXPECT_EQ(bench({"audit", "published:seed_result_table"}).exit_code, 1);
  EXPECT_EQ(bench({"audit", "published:gpu_d20_replicates"}).exit_code, 0);
  EXPECT_EQ(bench({"audit", "published:seed_memory"}).exit_code, 0);  // WARN only
  EXPECT_EQ(bench({"audit", "published:gpu_d24_core", "--as-baseline"}).exit_code, 1);
}

TEST(AuditVerb, OfSeveralTablesOneFailIsEnough) {
  const Bench bench;
  const auto result = bench({"audit", "published:gpu_d24_core", "published:seed_throughput"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out.find("PASS: published:gpu_d24_core"), 0U);
  EXPECT_NE(result.out.find("FAIL: published:seed_throughput"), std::string::npos);
}

TEST(AuditVerb, JsonAloneStandsOnStdout) {
  const Bench bench;
  const auto result = bench({"audit", "published:seed_result_table", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const auto json = parse_json(result.out, "stdout");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ((*json)["schema"], "npubench.audit/1");
  EXPECT_EQ((*json)["tables"][0]["verdict"], "FAIL");
}

TEST(AuditVerb, BadInputIsOneSentence) {
  const Bench bench;
  expect_sentence(bench({"audit"}), 64, {"no table to audit"});
  expect_sentence(bench({"audit", "published:seed"}), 64, {"there is no published table \"seed\""});
  const fs::path file = bench.results() / "scores.csv";
  ASSERT_TRUE(write_file(file, "task,accuracy,n\nMMLU,NaN,14042\n"));
  expect_sentence(bench({"audit", file.string()}), 64, {"scores.csv:2", "not a finite number"});
}

TEST(AuditVerb, RulesAndTablesAreListed) {
  const Bench bench;
  const auto rules = bench({"audit", "--rules"});
  EXPECT_EQ(rules.exit_code, 0);
  EXPECT_NE(rules.out.find("A22"), std::string::npos);
  const auto tables = bench({"list", "published", "--json"});
  const auto names = parse_json(tables.out, "stdout");
  ASSERT_TRUE(names);
  EXPECT_NE(std::find(names->begin(), names->end(), "seed_result_table"), names->end());
}

}  // namespace
}  // namespace nb::test
