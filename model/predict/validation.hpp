// Predictions beside measurements: rows, groups of rows, and the figures that must hold. Plain
// values with their statistics; how a row is predicted is elsewhere (dense_validation.hpp,
// kernel_validation.hpp, nanochat_validation.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/device/calibration.hpp"

namespace nb {

inline constexpr double kMiB = 1024.0 * 1024.0;

struct ValidationRow {
  std::string id, machine, unit, reason;
  RowUse use = RowUse::kExclude;
  std::optional<double> measured, predicted;  // in `unit`
  // Of the time that it takes, or of the bytes: predicted over measured, less 1. Absent: excluded,
  // or no number.
  std::optional<double> error;
  // Errors where the family is fitted without this row; of one utilisation for all rows; of that,
  // fitted without this row.
  std::optional<double> left_out, baseline, baseline_left_out;
  std::optional<double> shipped;  // error with the shipped constants, where own ones speak of it
  std::optional<double> step_ms;  // predicted, of whole runs
  std::string note;
};

// What the measurement says: everything but a prediction and its error.
ValidationRow measured_row(const CalibrationRow& row);

struct ValidationGroup {
  std::string name;   // "steps"
  std::string title;  // one line
  std::string family;
  std::vector<ValidationRow> rows;
};

// A row of a unit that grows with speed (tok/s …) or with time (us, ms/step, MiB).
bool is_rate(const std::string& unit);
// predicted over measured, less 1, as a time: of a rate the inverse.
double error_of(double predicted, double measured, const std::string& unit);

// Over rows that have that error and, if given, that use.
using RowError = std::optional<double> ValidationRow::*;
std::vector<double> errors_in(const ValidationGroup& group, RowError error,
                              std::optional<RowUse> use = {});
std::optional<double> mean_absolute(const std::vector<double>& errors);
std::optional<double> largest_absolute(const std::vector<double>& errors);

// Where the fits with one row left out put a constant: one that they put anywhere in its range is
// not determined by the rows.
struct ConstantSpread {
  std::string name, unit;
  double value = 0, lowest = 0, highest = 0, min = 0, max = 0;
  double refitted = 0;  // on all rows: `value`, unless somebody else wrote it
};

// What must hold; beyond `limit` it is printed as failing, never mended by a wider limit.
struct ValidationFigure {
  std::string name;  // "steps, fit rows, mean absolute error"
  std::optional<double> value;
  double limit = 0;
  bool holds() const { return value && *value <= limit; }
};

enum class Side { kRight, kWrong, kTie };
std::string_view name(Side side);
// Faster or slower than the reference GPU; a tie where the measured rates differ by at most 10 %.
struct SideRow {
  std::string id;
  double measured = 0, predicted = 0;  // rate of the NPU over that of the GPU
  Side side = Side::kTie;
};
Side side_of(double measured, double predicted);

struct Validation {
  std::vector<ValidationGroup> groups;
  std::vector<ValidationFigure> figures;
  std::vector<ConstantSpread> constants;  // of the family of the training steps, those fitted
  std::string reference;                  // what the unnamed GPU is taken for, and why
  std::vector<SideRow> sides;
  const ValidationGroup* find(std::string_view group) const;
  bool holds() const;
};

}  // namespace nb
