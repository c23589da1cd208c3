// Files → tables of reported results. Recognised by content: nanochat's report cards (whole or one
// section, old and new layouts), its CSV of CORE and its training logs, CSV, Markdown tables, JSON.
// Errors are one sentence with file and line. What a file holds besides is counted in `ignored`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/audit/table.hpp"
#include "results/training/training_log.hpp"

namespace nb {

// A file, or "published:NAME", "published:NAME/RUN" (published.hpp).
Result<ReportedTable> read_table(const std::string& path);
// Also a folder: each table below it; nanochat's report folder (a header, a file a section) is one.
struct FolderTables {
  std::vector<ReportedTable> tables;  // at least one, by name
  std::vector<std::string> not_read;  // other files of the folder, a sentence each
};
Result<FolderTables> read_tables(const std::string& path);
// Of these files only: report cards and training logs, which are nothing else. May be empty.
FolderTables read_cards(const std::vector<std::filesystem::path>& files);
// where: the file's name, for messages and for the run's name.
Result<ReportedTable> parse_table(std::string_view text, const std::string& where);

// One format each; `looks_like_…` decides which.
bool begins_as_json(std::string_view text);  // an object or an array, whole or not
bool looks_like_report_card(std::string_view text);
Result<ReportedTable> parse_report_card(std::string_view text, const std::string& where);
// Of any trainer that results/training knows. Its curves, and medians and totals as facts.
bool looks_like_training_log(const LogText& log);
Result<ReportedTable> parse_training_log(const LogText& log);
bool looks_like_markdown_table(std::string_view text);  // with a task that is known, or "Task"
Result<ReportedTable> parse_markdown_tables(std::string_view text, const std::string& where);
// task,accuracy[,n][,stderr]…, nanochat's Task,Accuracy,Centered, one column a run, or
// run,stage,metric,value: README.md.
Result<ReportedTable> parse_csv_table(std::string_view text, const std::string& where);
// "npubench.table/1" (README.md), lm-eval's results, DCLM's results, {"task": accuracy}.
Result<ReportedTable> parse_json_table(std::string_view text, const std::string& where);

}  // namespace nb
