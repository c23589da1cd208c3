// The parts of a report, in reading order, one row of a table each. A section that has nothing to
// show says so in one sentence; it never vanishes silently. To add one: write its function, add its
// row in sections.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "report/document.hpp"
#include "report/head_names.hpp"
#include "report/report.hpp"
#include "report/scores.hpp"
#include "results/store/series.hpp"

namespace nb {

// What sections read: the input, and what several of them need, made once.
struct ReportContext {
  const ReportInput& input;
  Words say;
  struct Curve {
    const StoredRecord* stored;
    Series series;
  };
  std::vector<Curve> curves;            // step series of the training records
  std::vector<std::string> unreadable;  // sentences about series that could not be read
  std::vector<ScoreTable> scores;
  ItemList flips;
  HeadNames names = {};
};

struct Section {
  std::string_view id;  // anchor in HTML, key in JSON; the same in every language
  Phrase title;
  std::vector<Block> (*blocks)(const ReportContext&);
  bool folded = false;  // a heading to open: what few look for
};
std::span<const Section> sections();

std::vector<Block> verdict_blocks(const ReportContext& context);      // section_verdict.cpp
std::vector<Block> check_blocks(const ReportContext& context);        // section_checks.cpp
std::vector<Block> confounder_blocks(const ReportContext& context);   // section_confounders.cpp
std::vector<Block> score_blocks(const ReportContext& context);        // section_scores.cpp
std::vector<Block> attribution_blocks(const ReportContext& context);  // section_attribution.cpp
std::vector<Block> speed_blocks(const ReportContext& context);        // section_speed.cpp
std::vector<Block> training_blocks(const ReportContext& context);     // section_training.cpp
std::vector<Block> flip_blocks(const ReportContext& context);         // section_flips.cpp
std::vector<Block> trend_blocks(const ReportContext& context);        // section_trends.cpp
std::vector<Block> card_blocks(const ReportContext& context);         // section_card.cpp
std::vector<Block> numerics_blocks(const ReportContext& context);     // section_numerics.cpp
std::vector<Block> environment_blocks(const ReportContext& context);  // section_environment.cpp
std::vector<Block> reproduce_blocks(const ReportContext& context);    // section_reproduce.cpp
std::vector<Block> benchmark_blocks(const ReportContext& context);    // section_benchmarks.cpp
std::vector<Block> inventory_blocks(const ReportContext& context);    // section_inventory.cpp

// "ascend_910b3, seed 1": the legend of a record's curve or bar, and of its row.
std::string series_title(const Words& say, const Record& record);
// The end of a long path: "…/nightly". For headers, legends and the first line.
std::string short_label(const std::string& label);
// Of "results/npu" beside "results/gpu": "npu"; whole where both end alike.
std::string side_label(const std::string& label, const std::string& other);
// A folded table of which the page holds the first rows, and says which file has all.
void add_long_table(std::vector<Block>& blocks, const Words& say, const std::string& caption,
                    TextTable table, const std::string& csv_file);
// Records of that kind, failed ones left out.
std::vector<const StoredRecord*> records_of(const RunRecords& run, std::string_view kind);
// A name with everything but letters and digits as '_': part of a file's name.
std::string file_part(std::string name);
// "B better", or "not established (a change of 0.01 would have shown)".
std::string shown_text(const Words& say, Shown shown, const std::optional<double>& min_detectable,
                       const std::string& unit);

}  // namespace nb
