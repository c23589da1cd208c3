// Whole runs of nanochat beside dry runs of the same settings (model/train/predict.hpp), and the
// fit of the eager family on them. Thread-safe.
#pragma once

#include <span>

#include "model/predict/family_values.hpp"
#include "model/predict/validation.hpp"
#include "model/train/predict.hpp"

namespace nb {

struct NanochatRun {
  std::string id, machine, stack;
  PredictSettings settings;
  // Cards that train replicas which exchange nothing: the settings are those of one of them.
  std::int64_t replicas = 1;
  std::string note;  // in what the settings differ from the row
};
// bad_input: a size that is missing.
Result<NanochatRun> nanochat_run(const CalibrationRow& row);

struct NanochatValidation {
  ValidationGroup rates;   // "nanochat": tok/s, and whether a batch fits
  ValidationGroup memory;  // "nanochat_memory": peaks, not fitted
};
Result<NanochatValidation> validate_nanochat(std::span<const CalibrationRow> rows,
                                             const OwnConstants& own = {});

}  // namespace nb
