// The parts of a report, in reading order, one row of a table each. A section that has nothing to
// show says so in one sentence; it never vanishes silently. To add one: write its function, add its
// row in sections.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "report/document.hpp"
#include "report/report.hpp"
#include "results/series.hpp"

namespace nb {

// What sections read: the input, and the step series of its training records, read once.
struct ReportContext {
  const ReportInput& input;
  struct Curve {
    const StoredRecord* stored;
    Series series;
  };
  std::vector<Curve> curves;
  std::vector<std::string> unreadable;  // sentences about series that could not be read
};

struct Section {
  std::string_view title;
  std::vector<Block> (*blocks)(const ReportContext&);
};
std::span<const Section> sections();

std::vector<Block> summary_blocks(const ReportContext& context);      // section_summary.cpp
std::vector<Block> verdict_blocks(const ReportContext& context);      // section_verdict.cpp
std::vector<Block> effect_blocks(const ReportContext& context);       // section_effects.cpp
std::vector<Block> device_blocks(const ReportContext& context);       // section_comparison.cpp
std::vector<Block> training_blocks(const ReportContext& context);     // section_training.cpp
std::vector<Block> speed_blocks(const ReportContext& context);        // section_speed.cpp
std::vector<Block> evaluation_blocks(const ReportContext& context);   // section_evaluation.cpp
std::vector<Block> benchmark_blocks(const ReportContext& context);    // section_speed.cpp
std::vector<Block> other_run_blocks(const ReportContext& context);    // section_comparison.cpp
std::vector<Block> numerics_blocks(const ReportContext& context);     // section_numerics.cpp
std::vector<Block> environment_blocks(const ReportContext& context);  // section_numerics.cpp

// "ascend_910b3, seed 1": the legend of a record's curve or bar, and of its row.
std::string series_title(const Record& record);
// Records of that kind, failed ones left out.
std::vector<const StoredRecord*> records_of(const RunRecords& run, std::string_view kind);

}  // namespace nb
