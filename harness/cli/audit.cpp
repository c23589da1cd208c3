#include "results/audit/audit.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "results/audit/read_table.hpp"

namespace nb::cli {
namespace {

constexpr int kExitFail = 1;

struct AuditOptions {
  std::vector<std::string> tables;
  bool is_baseline = false;
  bool hides_info = false;
  bool brief = false;
  bool rules = false;
  bool json = false;
};

int print_rules(bool json) {
  Json list = Json::array();
  TextTable table{{"rule", "asks", "at worst"}, {}};
  for (const AuditRule& rule : audit_rules()) {
    list.push_back({{"rule", std::string(rule.id)},
                    {"asks", std::string(rule.question)},
                    {"at_worst", std::string(name(rule.worst))}});
    table.rows.push_back(
        {std::string(rule.id), std::string(rule.question), std::string(name(rule.worst))});
  }
  if (json) return print_json(list);
  say("{}", to_text(table, output_width()));
  return kExitOk;
}

int run_audit(const AuditOptions& options) {
  if (options.rules) return print_rules(options.json);
  if (options.tables.empty())
    return fail({ErrorCode::kBadInput,
                 "no table to audit: give a file, or published:NAME (npubench list published)"});
  std::vector<Audit> audits;
  int exit = kExitOk;
  std::vector<std::string> not_read;
  for (const std::string& path : options.tables) {
    auto found = read_tables(path);
    if (!found) {  // the others are audited all the same
      exit = fail(found.error());
      continue;
    }
    for (ReportedTable& table : found->tables)
      audits.push_back(audited(std::move(table), options.is_baseline));
    not_read.insert(not_read.end(), found->not_read.begin(), found->not_read.end());
  }
  if (options.json) {
    if (!audits.empty()) print_json(audit_json(audits));
  } else {
    for (std::size_t i = 0; i < audits.size(); ++i)
      say("{}", options.brief ? audit_line(audits[i])
                              : (i == 0 ? "" : "\n") + audit_text(audits[i], options.hides_info));
  }
  if (!not_read.empty())
    say_on_stderr(fmt::format(
        "npubench: not read: {}{}\n", not_read.front(),
        not_read.size() == 1 ? "" : fmt::format(" (and {} more files)", not_read.size() - 1)));
  if (exit != kExitOk) return exit;
  for (const Audit& audit : audits)
    if (audit.has(Severity::kFail)) return kExitFail;
  return kExitOk;
}

}  // namespace

Action add_audit(CLI::App& app) {
  auto options = std::make_shared<AuditOptions>();
  app.add_option("tables", options->tables,
                 "CSV, Markdown, JSON, a nanochat report card or training log; folders of them; or "
                 "published:NAME (npubench list published)");
  app.add_flag("--as-baseline", options->is_baseline,
               "treat the table as a baseline: numbers without a run record FAIL");
  app.add_flag("--no-info", options->hides_info, "show FAIL and WARN only");
  app.add_flag("--brief", options->brief, "one line a table: verdict, rules, name");
  app.add_flag("--rules", options->rules, "list the rules");
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "Examples:\n"
      "  npubench audit report.md\n"
      "  npubench audit scores.csv --json\n"
      "  npubench audit results_of_others --brief\n"
      "A FAIL says that not all of the numbers can be true as they stand, not why: an aggregation "
      "that nobody described may explain them. What would make them true stands below each.\n"
      "Exit codes: 0 no FAIL, 1 a FAIL, 64 a table that can't be read.");
  return [options] { return run_audit(*options); };
}

}  // namespace nb::cli
