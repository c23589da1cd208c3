// npubench predict validate: what is measured beside what is predicted for it, as text, JSON, CSV,
// plots.
#pragma once

#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "model/predict/validation.hpp"
#include "report/plot.hpp"

namespace nb::cli {

struct ValidateOptions {
  bool validate = false;
  // --calibration: a folder of CSV files in place of those built in, or own constants.
  std::string rows_dir;
  std::string csv, plots;
};
// Exit code: 0 every figure holds, 4 one does not (or a file was not written), 64 bad rows.
int predict_validate(const ValidateOptions& options, bool json);

std::string validation_text(const Validation& validation);
Json validation_json(const Validation& validation);
std::string validation_csv(const Validation& validation);
// Errors of the rows of each group that has any, in percent.
std::vector<Plot> residual_plots(const Validation& validation);

}  // namespace nb::cli
