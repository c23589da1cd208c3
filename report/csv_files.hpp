// The report's tables for other programs: full precision, one file each. Rows as TextTable.
#pragma once

#include <string>
#include <vector>

#include "harness/base/table.hpp"
#include "report/sections.hpp"

namespace nb {

struct CsvFile {
  std::string name;  // "metrics.csv"
  TextTable table;
};
// metrics.csv always; comparison_<n>.csv, verdicts.csv, flips.csv, main_effects.csv and curves.csv
// where there is something in them.
std::vector<CsvFile> csv_files(const ReportContext& context);

}  // namespace nb
