// Turns a run, and what it was compared with, into files for people: report.md, one self-contained
// report.html, report.tex, report.json, csv/*.csv, plots/*.svg and *.pdf. Reads results only;
// measures nothing, judges nothing.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/base/table.hpp"
#include "report/words.hpp"
#include "results/compare/compare.hpp"
#include "results/compare/flips.hpp"
#include "results/gate/gate.hpp"
#include "results/store/index.hpp"
#include "results/store/store.hpp"

namespace nb {

// A section that somebody else makes, in the report's language: what it says, then its tables.
struct BroughtSection {
  std::string id;  // anchor: "profile"
  std::string title;
  std::string text;                 // a block of lines as they are
  std::vector<std::string> points;  // a list
  std::vector<std::pair<std::string, TextTable>> tables;
};

struct ReportInput {
  std::string title;                    // "smoke"
  const RunRecords* run = nullptr;      // required
  std::vector<Comparison> comparisons;  // device against device, this run against another
  std::optional<GateResult> gate;
  std::vector<std::string> reused;  // node keys (or their first digits) taken from the store
  // Sets the texts of flips (Flip::text): a report does not know where they are. Empty: none.
  std::function<void(ItemList&)> add_texts = {};
  const RunIndex* nights = nullptr;  // of the folder of nights that trends are of; none without
  std::vector<BroughtSection> brought = {};  // behind the section of speed
};

struct ReportOptions {
  Language language = Language::kEn;
  bool plots = true;
  std::string gnuplot = "gnuplot";  // program, searched in PATH
};

struct ReportFiles {
  std::filesystem::path markdown, html, latex, json;
  std::vector<std::filesystem::path> csv, plots;
  std::vector<std::string>
      notes;  // "no plots: gnuplot is not installed (apt-get install gnuplot-nox)"
};

// Every pair of devices that share a record in the run: A is the one that `is_baseline` (a GPU),
// else the first by name. Of an experiment's configurations the two ends: the others are for its
// main effects.
std::vector<Comparison> device_comparisons(
    const RunRecords& run, const std::function<bool(const std::string& device)>& is_baseline = {});

// Creates `folder`; files of an older report there are replaced. Empty and partial runs give a
// report that says what is missing.
Result<ReportFiles> write_report(const ReportInput& input, const std::filesystem::path& folder,
                                 const ReportOptions& options = {});

}  // namespace nb
