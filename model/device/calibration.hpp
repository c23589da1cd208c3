// Measured rows of real machines (model/device/calibration/*.csv, built into the binary): what may
// be fitted, what is only reported and what is left out, each with its reason. Knows no formula
// and no prediction. Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

enum class RowUse { kFit, kReport, kExclude };
std::string_view name(RowUse use);

struct CalibrationRow {
  std::string id;  // unique over all files
  RowUse use = RowUse::kExclude;
  std::string reason, source, script;
  std::string unit;             // "tok/s/card", "us", …; "none": only memory was measured
  std::optional<double> value;  // absent with unit "none"
  std::string where;            // "model/device/calibration/gemm.csv:3", opens errors
  std::map<std::string, std::string, std::less<>> cells;  // columns of its kind

  // Of a column of its kind. An empty cell is absent; a missing column is a CheckFailure, a cell
  // that is no number of that kind bad_input.
  std::string_view text(std::string_view column) const;
  Result<std::optional<double>> number(std::string_view column) const;
  Result<std::optional<std::int64_t>> whole(std::string_view column) const;
};

// bad_input: a missing common column, an empty id, reason, source, script or unit, an unknown use,
// a value that is not a positive number (0 of unit "fits" is allowed), an id that came before.
Result<std::vector<CalibrationRow>> parse_calibration(std::string_view csv,
                                                      const std::string& where);

// As built in, sorted by name: "attention", "collective", "gemm", "megatron_ci", …
std::vector<std::string> calibration_files();
// NB_CHECK: the file is one of them.
Result<std::vector<CalibrationRow>> calibration_rows(std::string_view file);

// All of them by file: as built in, or, where a folder is given, the files of these names in it.
using CalibrationTables = std::map<std::string, std::vector<CalibrationRow>, std::less<>>;
Result<CalibrationTables> calibration_tables(const std::string& folder = "");

}  // namespace nb
