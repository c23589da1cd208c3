#include "results/audit/audit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/table.hpp"
#include "harness/base/visible_text.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

constexpr auto kFail = Severity::kFail;
constexpr auto kWarn = Severity::kWarn;
constexpr auto kInfo = Severity::kInfo;

constexpr auto kRules = std::to_array<AuditRule>({
    {"A01", "does an aggregate follow from its tasks?", kFail, check_aggregates},
    {"A02", "is a score a share of n items?", kFail, check_granularity},
    {"A03", "is a score far below guessing?", kFail, check_below_chance},
    {"A04", "do numbers that determine each other agree?", kFail, check_identities},
    {"A05", "is the time what tokens and rate give?", kFail, check_times},
    {"A06", "is the gain from more cards possible?", kWarn, check_scaling},
    {"A07", "is the rate a plausible share of the device's peak?", kFail, check_mfu},
    {"A08", "is the memory what the card has and such a training needs?", kFail, check_memory},
    {"A09", "do speed-up and time saved agree?", kFail, check_time_saved},
    {"A10", "are tokens per parameter what is claimed?", kFail, check_token_ratio},
    {"A11", "does the batch divide over sequences and cards?", kFail, check_divisibility},
    {"A12", "do rows and batch give the number of steps?", kFail, check_step_counts},
    {"A13", "does a record show the run?", kFail, check_provenance},
    {"A14", "is a number a placeholder?", kWarn, check_placeholders},
    {"A15", "are all ChatCOREs means of the same tasks?", kFail, check_task_sets},
    {"A16", "does only the device differ between two devices?", kFail, check_confounders},
    {"A17", "do the scores keep what is claimed?", kFail, check_retention},
    {"A18", "do intervals allow the claim?", kWarn, check_claim_ranges},
    {"A19", "are numbers of two devices the same?", kWarn, check_duplicates},
    {"A20", "are numbers older than what they describe?", kWarn, check_timestamps},
    {"A21", "is the number of items said?", kInfo, check_sizes},
    {"A22", "is CORE compared with an estimate of it?", kFail, check_estimates},
    {"A23", "do sources contradict each other?", kWarn, check_statements},
    {"A24", "does a line stand twice?", kFail, check_repetitions},
    {"A25", "is a standard error what n gives?", kFail, check_errors},
    {"A26", "is a loss called an accuracy?", kWarn, check_losses},
});

std::string counts_text(const Audit& audit) {
  std::map<Severity, int> counts;
  for (const Finding& finding : audit.findings) ++counts[finding.severity];
  return fmt::format("{} FAIL, {} WARN, {} INFO", counts[Severity::kFail], counts[Severity::kWarn],
                     counts[Severity::kInfo]);
}

// Scores or numbers about a training: what rules ask about. Curves alone are compared, not audited.
bool has_numbers(const ReportedTable& table) {
  return std::ranges::any_of(table.runs, [](const ReportedRun& run) {
    return !run.facts.empty() || std::ranges::any_of(run.stages, [](const ReportedStage& stage) {
      return !stage.cells.empty() || !stage.facts.empty();
    });
  });
}

std::string_view verdict_of(const Audit& audit) {
  if (audit.has(Severity::kFail)) return "FAIL";
  if (audit.has(Severity::kWarn)) return "WARN";
  return has_numbers(audit.table) ? "PASS" : "NOT JUDGED";
}

std::string verdict_line(const Audit& audit) {
  const std::string& table = audit.table.name;
  if (audit.has(Severity::kFail))
    return fmt::format("FAIL: {}: not all of these numbers can be true", table);
  if (audit.has(Severity::kWarn))
    return fmt::format("WARN: {}: nothing impossible, some is implausible", table);
  if (!has_numbers(audit.table))
    return fmt::format(
        "NOT JUDGED: {}: curves alone, which no rule asks about; compare judges them", table);
  return fmt::format("PASS: {}: nothing here is impossible or implausible", table);
}

std::string size_text(const ReportedTable& table) {
  std::size_t scores = 0, facts = 0, curves = 0, steps = 0;
  for (const ReportedRun& run : table.runs) {
    facts += run.facts.size();
    for (const ReportedStage& stage : run.stages) {
      scores += stage.cells.size();
      facts += stage.facts.size();
      curves += stage.curve.empty() ? 0 : 1;
      steps += stage.curve.steps.size();
    }
  }
  std::string text = fmt::format("Read: {}, {}, {}", count_text(std::ssize(table.runs), "run"),
                                 count_text(static_cast<long long>(scores), "score"),
                                 count_text(static_cast<long long>(facts), "other number"));
  if (curves > 0)
    text += fmt::format(", {} of {}", count_text(static_cast<long long>(curves), "curve"),
                        count_text(static_cast<long long>(steps), "step"));
  if (!table.claims.empty()) text += ", " + count_text(std::ssize(table.claims), "claim");
  if (!table.ignored.empty())
    text += fmt::format("; not read: {}", fmt::join(texts_of(table.ignored), ", "));
  return text;
}

std::string place(const Audit& audit, const Finding& finding) {
  std::string text = finding.run == audit.table.name ? "" : finding.run;
  if (!finding.where.empty()) text += (text.empty() ? "" : " ") + finding.where;
  if (finding.line > 0) text += fmt::format(" (line {})", finding.line);
  return text;
}

}  // namespace

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "INFO";
    case Severity::kWarn:
      return "WARN";
    case Severity::kFail:
      return "FAIL";
  }
  return "";
}

std::span<const AuditRule> audit_rules() { return kRules; }

bool Audit::has(Severity severity) const {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.severity == severity; });
}

Audit audited(ReportedTable table, bool is_baseline) {
  Audit audit;
  const ReportedTable judged = with_stages(table);
  for (const AuditRule& rule : kRules) rule.check(judged, audit.findings);
  if (is_baseline)
    for (Finding& finding : audit.findings)
      if (finding.rule == "A13") {
        finding.severity = Severity::kFail;
        finding.found += ", and they are to be gated against";
      }
  std::ranges::stable_sort(
      audit.findings, [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  audit.table = std::move(table);
  return audit;
}

std::string audit_line(const Audit& audit) {
  std::set<std::string_view> rules;
  for (const Finding& finding : audit.findings)
    if (finding.severity != Severity::kInfo) rules.insert(finding.rule);
  return fmt::format("{}{}{}  {}\n", verdict_of(audit), rules.empty() ? "" : " ",
                     fmt::join(rules, " "), visible_line(audit.table.name));
}

std::string audit_text(const Audit& audit, bool hides_info) {
  std::string text = wrapped(verdict_line(audit));
  if (!audit.table.about.empty()) text += wrapped(audit.table.about);
  text += wrapped(fmt::format("{}. Found: {}", size_text(audit.table), counts_text(audit)));
  for (const Finding& finding : audit.findings) {
    if (hides_info && finding.severity == Severity::kInfo) continue;
    const std::string where = place(audit, finding);
    text += wrapped(
        fmt::format("{}{}{}: {}", finding.rule, where.empty() ? "" : " ", where, finding.found), 5,
        fmt::format("{} ", name(finding.severity)));
    text += wrapped(fmt::format("needed: {}", finding.needed), 5, "     ");
  }
  return text;
}

Json audit_json(std::span<const Audit> audits) {
  Json tables = Json::array();
  for (const Audit& audit : audits) {
    Json findings = Json::array();
    for (const Finding& finding : audit.findings)
      findings.push_back({{"rule", std::string(finding.rule)},
                          {"severity", std::string(name(finding.severity))},
                          {"run", finding.run},
                          {"where", finding.where},
                          {"found", finding.found},
                          {"needed", finding.needed},
                          {"line", finding.line > 0 ? Json(finding.line) : Json()}});
    tables.push_back({{"table", audit.table.name},
                      {"verdict", std::string(verdict_of(audit))},
                      {"sources", audit.table.sources},
                      {"ignored", texts_of(audit.table.ignored)},
                      {"ignored_message", json_of(audit.table.ignored)},
                      {"findings", std::move(findings)}});
  }
  return {{"schema", "npubench.audit/1"}, {"tables", std::move(tables)}};
}

}  // namespace nb
