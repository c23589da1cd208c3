// results/audit: tables of reported results, with everything that follows from one that was taken.
#include "results/audit/audit.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "results/audit/printed_tables.hpp"
#include "results/audit/read_table.hpp"
#include "results/audit/to_foreign.hpp"
#include "results/compare/stage_gain.hpp"
#include "results/import/to_records.hpp"
#include "tests/fuzz/target.hpp"

namespace nb::test {
namespace {

constexpr const char* kCard = R"(# nanochat training report

Generated: 2025-11-11 09:15:44

## Environment

### Git Information
- Commit: c6b7ab7 (dirty)

### Hardware
- GPUs: 8x NVIDIA H100 80GB HBM3
- Hourly Rate: $24.00/hour

## Base model training
timestamp: 2025-11-11 12:19:38

- depth: 20
- total_batch_size: 524,288
- Number of parameters: 560,988,160
- Number of FLOPs per token: 3.491758e+09
- Calculated number of iterations: 21,400
- MFU %: 48.04%
- Total training time: 172.57m
- Peak memory usage: 75422.02MiB

## Base model evaluation
- CORE metric: 0.2219

## Summary

| Metric          | BASE     | MID      | SFT      |
|-----------------|----------|----------|----------|
| CORE            | 0.2219   | -        | -        |
| ARC-Easy        | -        | 0.3561   | 0.3876   |
| GSM8K           | -        | 0.0250   | 0.0455   |

Total wall clock time: 3h51m
)";

constexpr const char* kMarkdown = R"(| Metric | GPU BASE | NPU BASE | GPU MID |
|--------|---------:|---------:|:-------:|
| CORE | 0.2219 | 0.1608 | - |
| **ARC-Challenge (25-shot)** | - | - | 0.2875 |
| MMLU | | | 31.11% |
| WER (%) ↓ | 4.3 | 4.4 | |
| own | 0.35 ± 0.01 | | |
)";

constexpr const char* kCsv = "task,accuracy,n,stderr\nGSM8K,4.55%,\"1,319\",0.0057\nown,0.5,,\n";
constexpr const char* kRunsCsv =
    "run,device,stage,metric,value,n_items\na,H100,SFT,GSM8K,0.0455,1319\nb,910B,BASE,val_bpb,.8,"
    "\n";
constexpr const char* kOwnJson =
    R"({"schema": "npubench.table/1", "runs": [{"name": "r", "device": "NVIDIA H100", "facts": {"cards": "8"}, "stages": [{"name": "s", "facts": {"depth": "20", "minutes": "~8 h"}, "cells": [{"task": "MMLU", "value": "0.31"}]}]}]})";
constexpr const char* kLmEvalJson =
    R"({"results": {"arc_easy": {"acc,none": 0.25, "acc_stderr,none": 0.01, "alias": "x"}}, "n-samples": {"arc_easy": {"original": 2376, "effective": 100}}})";

using Parse = Result<ReportedTable> (*)(std::string_view text, const std::string& where);

template <Parse parse>
Result<void> fuzz_table(std::string_view bytes) {
  NB_TRY(const ReportedTable table, parse(bytes, "t"));
  const Audit audit = audited(table);
  const std::string text = audit_line(audit) + audit_text(audit, false);
  const Json json = audit_json({&audit, 1});
  const RunRecords run = records_of(foreign_of(table));
  if (const auto gains = stage_gains(run, "mid", "sft"))
    NB_CHECK(!stage_gains_text(*gains).empty(), "[audit] nothing to say");
  return {};
}

Result<void> fuzz_printed(std::string_view bytes) {
  for (const PrintedTable& table : printed_tables(bytes))
    NB_CHECK(table.rows.size() == table.lines.size(), "[printed_tables] rows without lines");
  NB_TRY(const Printed number, parse_printed(bytes, "t"));
  return {};
}

template <Parse parse>
FuzzTarget table_target(const char* name, const char* reads, std::vector<std::string> seeds) {
  return {std::string("audit.") + name, reads, "", fuzz_table<parse>, [seeds] { return seeds; }};
}

}  // namespace

void add_audit_targets(FuzzTargets& targets) {
  targets.push_back(table_target<parse_report_card>("card", "nanochat's report cards", {kCard}));
  targets.push_back(
      table_target<parse_markdown_tables>("markdown", "tables in Markdown", {kMarkdown}));
  targets.push_back(table_target<parse_csv_table>("csv", "tables in CSV", {kCsv, kRunsCsv}));
  targets.push_back(
      table_target<parse_json_table>("json", "tables in JSON", {kOwnJson, kLmEvalJson}));
  targets.push_back(table_target<parse_table>("any", "any table that audit takes",
                                              {kCard, kMarkdown, kCsv, kRunsCsv, kOwnJson}));
  targets.push_back({"audit.printed", "a printed number; grids and boxes", "", fuzz_printed, [] {
                       return std::vector<std::string>{"28.75 %", "1,234.5 ± 0.1", "3.49e+09"};
                     }});
}

}  // namespace nb::test
