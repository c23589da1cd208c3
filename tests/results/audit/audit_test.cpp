#include "results/audit/audit.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/results/audit/audit_case.hpp"

namespace nb::test {
namespace {

TEST(Audit, RulesAreNumberedInOrder) {
  const auto rules = audit_rules();
  ASSERT_EQ(rules.size(), 26U);
  for (std::size_t i = 0; i < rules.size(); ++i)
    EXPECT_EQ(rules[i].id, (i < 9 ? "A0" : "A") + std::to_string(i + 1));
}

TEST(Audit, NoRuleIsWorseThanItsLineSays) {
  for (const char* table :
       {"seed_result_table", "seed_throughput", "seed_distributed_guide", "seed_configurations",
        "seed_memory", "seed_readme", "seed_contradictions"})
    for (const Finding& finding : published_audit(table).findings)
      for (const AuditRule& rule : audit_rules())
        if (rule.id == finding.rule) {
          EXPECT_LE(finding.severity, rule.worst) << finding.rule;
        }
}

TEST(Audit, FailsComeFirstInOrderOfTheRules) {
  const Audit audit = published_audit("seed_result_table");
  for (std::size_t i = 1; i < audit.findings.size(); ++i) {
    EXPECT_GE(audit.findings[i - 1].severity, audit.findings[i].severity);
    if (audit.findings[i - 1].severity == audit.findings[i].severity) {
      EXPECT_LE(audit.findings[i - 1].rule, audit.findings[i].rule);
    }
  }
}

TEST(Audit, EveryFindingSaysWhatWouldMakeItTrue) {
  for (const char* table : {"seed_result_table", "seed_throughput", "seed_readme"})
    for (const Finding& finding : published_audit(table).findings) {
      EXPECT_FALSE(finding.found.empty());
      EXPECT_FALSE(finding.needed.empty()) << finding.rule;
    }
}

TEST(Audit, TextFitsATerminalAndOpensWithTheVerdict) {
  const std::string text = audit_text(published_audit("seed_result_table"), false);
  EXPECT_EQ(text.find("FAIL: published:seed_result_table: not all of these numbers can be true\n"),
            0U);
  EXPECT_NE(text.find("FAIL A02 NPU MID HumanEval: 0.0239 is not reproducible as k/164"),
            std::string::npos);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 90U) << text.substr(begin, end - begin);  // bytes; some are not ASCII
    begin = end + 1;
  }
  EXPECT_EQ(audit_text(published_audit("gpu_d24_core"), true).find("INFO A13"), std::string::npos);
}

TEST(Audit, JsonHasItsSchemaAndEveryFinding) {
  const Audit audit = published_audit("seed_result_table");
  const Json json = audit_json(std::vector<Audit>{audit});
  EXPECT_EQ(json["schema"], "npubench.audit/1");
  const Json& table = json["tables"][0];
  EXPECT_EQ(table["verdict"], "FAIL");
  EXPECT_EQ(table["findings"].size(), audit.findings.size());
  EXPECT_EQ(table["findings"][0]["rule"], "A01");
  EXPECT_EQ(table["findings"][0]["severity"], "FAIL");
  EXPECT_TRUE(table["findings"][0]["line"].is_null());
}

}  // namespace
}  // namespace nb::test
