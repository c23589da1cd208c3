// The published tables give the verdicts that were worked out by hand for them: one test a block.
#include "results/audit/published.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/audit/aggregates.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/retention.hpp"
#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

ReportedTable seeds() { return read_published("seed_result_table").value(); }

TEST(Published, VerdictsOfTheComparedTable) {
  const Audit audit = published_audit("seed_result_table");
  EXPECT_EQ(verdicts_of(audit, "GPU"), "");
  EXPECT_EQ(verdicts_of(audit, "NPU"),
            "FAIL A01, FAIL A02, FAIL A03, FAIL A10, FAIL A17, WARN A18");
  EXPECT_EQ(verdicts_of(audit, "GPU, NPU"), "FAIL A16");
  EXPECT_EQ(findings_of_rule(audit, "A13").size(), 2U);
}

TEST(Published, VerdictsOfTheOtherTables) {
  EXPECT_EQ(verdicts_of(published_audit("seed_throughput")),
            "FAIL A05, WARN A07, WARN A08, WARN A20");
  EXPECT_EQ(verdicts_of(published_audit("seed_distributed_guide")), "FAIL A09, WARN A19");
  EXPECT_EQ(verdicts_of(published_audit("seed_configurations")), "FAIL A11, WARN A12");
  EXPECT_EQ(verdicts_of(published_audit("seed_memory")), "WARN A08");
  EXPECT_EQ(verdicts_of(published_audit("seed_readme"), "910B"),
            "FAIL A04, FAIL A05, FAIL A07, WARN A07");
  EXPECT_EQ(verdicts_of(published_audit("seed_readme"), "H100 column"), "WARN A07");
  for (const char* sound :
       {"gpu_d20_replicates", "gpu_d24_core", "ascend_910c_d20", "ascend_910c_d32"})
    EXPECT_EQ(verdicts_of(published_audit(sound)), "") << sound;
}

TEST(Published, ChatCoreRecomputes) {
  const ReportedTable table = seeds();
  for (const Json& row : audit_golden()["chatcore"]) {
    const ReportedStage& stage =
        *table.run(row["run"].get<std::string>())->stage(row["stage"].get<std::string>());
    const std::vector<Aggregate> all = aggregates_of(stage);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_NEAR(*all[0].value, row["value"].get<double>(), 1e-12);
    EXPECT_NEAR(*all[0].standard_error, row["standard_error"].get<double>(), 1e-12);
    EXPECT_EQ(stage.find(kChatCoreCell)->score.text, row["reported"].get<std::string>());
  }
}

TEST(Published, GranularityOfEveryCell) {
  const Audit audit = published_audit("seed_result_table");
  std::size_t impossible = 0;
  for (const Json& row : audit_golden()["grim"])
    if (row["right"].empty()) ++impossible;
  EXPECT_EQ(impossible, 8U);
  EXPECT_EQ(findings_of_rule(audit, "A02", "NPU").size(), impossible);
  EXPECT_TRUE(findings_of_rule(audit, "A02", "GPU").empty());
  // Seven replicates and the sixteen-die runs: 75 + 12 cells of chat, 44 tasks of CORE, all
  // possible.
  for (const char* sound : {"gpu_d20_replicates", "ascend_910c_d20", "ascend_910c_d32"})
    EXPECT_TRUE(findings_of_rule(published_audit(sound), "A02").empty()) << sound;
}

TEST(Published, RetentionOfEveryCell) {
  const ReportedTable table = seeds();
  const auto all = retention_of(*table.run("NPU"), *table.run("GPU"));
  EXPECT_EQ(all.size(), 14U);
  for (const Json& row : audit_golden()["retention"]) {
    const auto found = std::ranges::find_if(all, [&](const Retention& cell) {
      return cell.stage == row["stage"].get<std::string>() &&
             cell.label == row["task"].get<std::string>();
    });
    ASSERT_NE(found, all.end()) << row.dump();
    EXPECT_NEAR(found->raw, row["raw"].get<double>(), 1e-12);
    EXPECT_NEAR(found->raw95->low, row["low"].get<double>(), 1e-9);
    EXPECT_NEAR(found->raw95->high, row["high"].get<double>(), 1e-9);
    EXPECT_NEAR(found->centred.value(), row["centred"].get<double>(), 1e-12);
  }
  const auto found = findings_of_rule(published_audit("seed_result_table"), "A17");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].found.find("2 of 14 scores lie there: MID ARC-Challenge 79.1 %, SFT "
                                "ARC-Challenge 83.3 %"),
            std::string::npos)
      << found[0].found;
}

TEST(Published, RetentionNearGuessingSaysNothing) {
  ReportedRun a, b;
  a.stages.resize(1);
  a.stages[0].cells = {cell_of("MMLU", parse_printed("0.2501", "").value(), 0)};
  a.stages[0].cells[0].n = 14042;
  b = a;
  const auto all = retention_of(b, a);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_DOUBLE_EQ(all[0].raw, 1);
  EXPECT_FALSE(all[0].centred);
}

TEST(Published, BelowGuessing) {
  const auto found = findings_of_rule(published_audit("seed_result_table"), "A03");
  ASSERT_EQ(found.size(), 1U);  // ARC-Challenge, ARC-Easy below .25 are within 1.8 standard errors
  EXPECT_EQ(found[0].where, "MID MMLU");
  EXPECT_NEAR(audit_golden()["below_guessing"]["guessing"].get<double>(), -11.2, .05);
  EXPECT_NE(found[0].found.find("11.2 standard errors"), std::string::npos);
  EXPECT_NE(found[0].found.find("and 5.7 below"), std::string::npos);
}

TEST(Published, ThroughputAndScaling) {
  const Audit audit = published_audit("seed_throughput");
  EXPECT_TRUE(findings_of_rule(audit, "A06").empty());  // 90 to 94 % would be possible
  EXPECT_EQ(findings_of_rule(audit, "A07").size(), 8U);
  const auto saved = findings_of_rule(published_audit("seed_distributed_guide"), "A09");
  ASSERT_EQ(saved.size(), 2U);  // in both guides
  EXPECT_EQ(saved[0].found, "6 times faster saves 83.3 % of the time, not 85 %+");
  EXPECT_EQ(saved[0].needed, "a speed-up of 6.667, or 83.3 % saved");
  // 64 % MFU is .0195 of 320 TFLOP/s at most: mislabelled.
  const auto mfu = findings_of_rule(published_audit("seed_readme"), "A04");
  EXPECT_TRUE(std::ranges::any_of(
      mfu, [](const Finding& finding) { return finding.found.find("MFU 64 %") == 0; }));
}

TEST(Published, Divisibility) {
  const Audit audit = published_audit("seed_configurations");
  const auto invalid = findings_of_rule(audit, "A11");
  std::vector<std::string> passes;
  for (const Finding& finding : invalid) {
    const std::size_t at = finding.found.find("are ") + 4;
    passes.push_back(finding.found.substr(at, finding.found.find(' ', at) - at));
  }
  EXPECT_EQ(passes, (std::vector<std::string>{"5.33", "10.67", "1.60", "0.50", "1.50", "1.50"}));
  const auto steps = findings_of_rule(audit, "A12");
  ASSERT_EQ(steps.size(), 1U);  // ~250, which are 233; 467, 325 and 651 are right
  EXPECT_EQ(steps[0].needed, "233 steps");
}

TEST(Published, Memory) {
  const Audit audit = published_audit("seed_memory");
  std::vector<std::string> low;
  for (const Finding& finding : findings_of_rule(audit, "A08")) {
    EXPECT_NE(finding.found.find("is low"), std::string::npos) << finding.found;
    low.push_back(finding.where);
  }
  EXPECT_EQ(low, (std::vector<std::string>{"README d10", "README d12", "README d14", "script d16",
                                           "script d18", "script d20"}));
  EXPECT_NE(findings_of_rule(audit, "A08")[3].found.find("impossible on 64 GB"), std::string::npos);
  std::vector<std::string> of_table;
  for (const Finding& finding : findings_of_rule(published_audit("seed_throughput"), "A08"))
    of_table.push_back(finding.where);
  EXPECT_EQ(of_table, (std::vector<std::string>{"Base, 8 cards", "Mid, 8 cards", "RL, 8 cards"}));
}

TEST(Published, Confounders) {
  const auto found = findings_of_rule(published_audit("seed_result_table"), "A16");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].found.find("not a hardware comparison: 14 settings differ"), std::string::npos)
      << found[0].found;
}

TEST(Published, TimesAgainstRates) {
  const auto found = findings_of_rule(published_audit("seed_throughput"), "A05");
  ASSERT_EQ(found.size(), 4U);
  const char* expected[] = {
      "need 64,080 tok/s; the table's rate is 4,583 (111.8 h, 14.0 times off)",
      "need 147,820 tok/s; the table's rate is 5,899 (125.3 h, 25.1 times off)",
      "need 343,700 tok/s; the table's rate is 8,000 (128.9 h, 43.0 times off)",
      "need 515,550 tok/s; the table's rate is 15,000 (68.7 h, 34.4 times off)"};
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].severity, Severity::kFail);
    EXPECT_NE(found[i].found.find(expected[i]), std::string::npos) << found[i].found;
  }
  const auto tokens = findings_of_rule(published_audit("seed_readme"), "A04");
  EXPECT_TRUE(std::ranges::any_of(tokens, [](const Finding& finding) {
    return finding.found.find("13,107,200,000") != std::string::npos;
  }));
}

TEST(Published, Contradictions) {
  const Audit audit = published_audit("seed_contradictions");
  EXPECT_EQ(findings_of_rule(audit, "A23").size(), 20U);
  EXPECT_FALSE(audit.has(Severity::kFail));
}

}  // namespace
}  // namespace nb::test
