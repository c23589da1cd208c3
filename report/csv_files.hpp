// The report's tables for other programs: full precision, one file each. Rows as TextTable.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/fs.hpp"
#include "harness/base/result.hpp"
#include "harness/base/table.hpp"
#include "report/sections.hpp"
#include "results/compare/flips.hpp"

namespace nb {

struct CsvFile {
  std::string name;  // "metrics.csv"
  TextTable table;
};
// metrics.csv always; comparison_<n>.csv, verdicts.csv, main_effects.csv and curves.csv where there
// is something in them.
std::vector<CsvFile> csv_files(const ReportContext& context);
// flips.csv: every item whose score differs, written as it is read, since there may be hundreds of
// thousands.
class FlipsCsv {
 public:
  static Result<FlipsCsv> create(const std::filesystem::path& path);
  void add(const FlipGroup& group, const Flip& flip);
  // Errors: what failed while it was written; then, and without a commit, there is no file.
  Result<void> commit();

 private:
  explicit FlipsCsv(FileWriter file) : file_(std::move(file)) {}
  void flush();
  FileWriter file_;
  std::string text_;
  Result<void> written_;
};

}  // namespace nb
