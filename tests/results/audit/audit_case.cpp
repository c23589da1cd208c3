#include "tests/results/audit/audit_case.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "results/audit/published.hpp"
#include "results/audit/read_table.hpp"

namespace nb::test {

ReportedTable table_from(std::string_view text) {
  auto table = parse_table(text, "t");
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  return table ? std::move(*table) : ReportedTable();
}

std::string refusal_of(std::string_view text) {
  const auto table = parse_table(text, "t");
  EXPECT_FALSE(table) << "was read";
  return table ? "" : table.error().message;
}

Audit published_audit(std::string_view name) {
  auto table = read_published(name);
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  return audited(table ? std::move(*table) : ReportedTable());
}

std::vector<Finding> findings_of_rule(const Audit& audit, std::string_view rule,
                                      std::string_view run) {
  std::vector<Finding> found;
  for (const Finding& finding : audit.findings)
    if (finding.rule == rule && (run.empty() || finding.run == run)) found.push_back(finding);
  return found;
}

std::string verdicts_of(const Audit& audit, std::string_view run) {
  std::set<std::string> seen;
  std::string text;
  for (const Finding& finding : audit.findings) {
    if (finding.severity == Severity::kInfo || (!run.empty() && finding.run != run)) continue;
    const std::string verdict = fmt::format("{} {}", name(finding.severity), finding.rule);
    if (seen.insert(verdict).second) text += (text.empty() ? "" : ", ") + verdict;
  }
  return text;
}

std::string run_with(const std::string& facts, const std::string& run_members) {
  return fmt::format(
      R"({{"schema": "npubench.table/1", "runs": [{{"name": "r", {}"stages":
          [{{"name": "s", "facts": {{{}}}}}]}}]}})",
      run_members, facts);
}

const Json& audit_golden() {
  static const Json golden =
      read_json(std::filesystem::path(NB_SOURCE_DIR) / "tests/golden/audit.json").value();
  return golden;
}

}  // namespace nb::test
