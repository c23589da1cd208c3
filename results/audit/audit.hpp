// Can a published table be true at all? The rules A01 to A26, one function each, over a table of
// reported results (table.hpp). A rule says what was found and what would make it true; it says
// "not reproducible as k/n", never that somebody invented a number: an aggregation that nobody
// described may exist.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "results/audit/table.hpp"

namespace nb {

enum class Severity { kInfo, kWarn, kFail };
std::string_view name(Severity severity);  // "INFO", "WARN", "FAIL"

struct Finding {
  std::string_view rule;  // "A02"
  Severity severity = Severity::kInfo;
  std::string run;       // the column it concerns; of a pair "GPU, NPU"
  std::string where;     // "MID HumanEval"; empty: the run as a whole
  std::string found;     // one sentence
  std::string needed;    // what would make it true; one sentence
  std::size_t line = 0;  // of the file; 0: none
};

struct AuditRule {
  std::string_view id;
  std::string_view question;  // what it asks, for --rules
  Severity worst;             // that it can come to
  void (*check)(const ReportedTable& table, std::vector<Finding>& findings);
};
std::span<const AuditRule> audit_rules();

struct Audit {
  ReportedTable table;
  std::vector<Finding> findings;  // FAIL first, then by rule, in the table's order
  bool has(Severity severity) const;
};
// is_baseline: the numbers are to be gated against; a number without a record is then a FAIL.
Audit audited(ReportedTable table, bool is_baseline = false);

// "FAIL A02 A03 A17  scores.csv": the verdict, the rules behind it, the table.
std::string audit_line(const Audit& audit);
// For terminals of 80 columns. hides_info: the INFO findings are counted, not shown.
std::string audit_text(const Audit& audit, bool hides_info);
Json audit_json(std::span<const Audit> audits);  // schema "npubench.audit/1"

// The rules, by file.
void check_aggregates(const ReportedTable&, std::vector<Finding>&);      // A01
void check_granularity(const ReportedTable&, std::vector<Finding>&);     // A02
void check_below_chance(const ReportedTable&, std::vector<Finding>&);    // A03
void check_identities(const ReportedTable&, std::vector<Finding>&);      // A04
void check_mfu_identities(const ReportedTable&, std::vector<Finding>&);  // of A04
void check_times(const ReportedTable&, std::vector<Finding>&);           // A05
void check_scaling(const ReportedTable&, std::vector<Finding>&);         // A06
void check_mfu(const ReportedTable&, std::vector<Finding>&);             // A07
void check_memory(const ReportedTable&, std::vector<Finding>&);          // A08
void check_time_saved(const ReportedTable&, std::vector<Finding>&);      // A09
void check_token_ratio(const ReportedTable&, std::vector<Finding>&);     // A10
void check_divisibility(const ReportedTable&, std::vector<Finding>&);    // A11
void check_step_counts(const ReportedTable&, std::vector<Finding>&);     // A12
void check_provenance(const ReportedTable&, std::vector<Finding>&);      // A13
void check_placeholders(const ReportedTable&, std::vector<Finding>&);    // A14
void check_task_sets(const ReportedTable&, std::vector<Finding>&);       // A15
void check_confounders(const ReportedTable&, std::vector<Finding>&);     // A16
void check_retention(const ReportedTable&, std::vector<Finding>&);       // A17
void check_claim_ranges(const ReportedTable&, std::vector<Finding>&);    // A18
void check_duplicates(const ReportedTable&, std::vector<Finding>&);      // A19
void check_timestamps(const ReportedTable&, std::vector<Finding>&);      // A20
void check_sizes(const ReportedTable&, std::vector<Finding>&);           // A21
void check_estimates(const ReportedTable&, std::vector<Finding>&);       // A22
void check_statements(const ReportedTable&, std::vector<Finding>&);      // A23
void check_repetitions(const ReportedTable&, std::vector<Finding>&);     // A24
void check_errors(const ReportedTable&, std::vector<Finding>&);          // A25
void check_losses(const ReportedTable&, std::vector<Finding>&);          // A26

}  // namespace nb
