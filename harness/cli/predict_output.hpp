// How predictions are shown: one as JSON and as a table of 80 columns. Reads values, computes
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/json_io.hpp"
#include "harness/predict/request.hpp"
#include "model/device/profile.hpp"
#include "model/train/expected_error.hpp"
#include "model/train/fit_batch.hpp"
#include "model/train/predict.hpp"

namespace nb::cli {

// What is asked of one prediction besides, by further dry steps; not of each cell of a sweep.
struct RunOutlook {
  std::optional<std::int64_t> steps;  // of the whole stage: as asked, else BASE's by its recipe
  bool is_by_recipe = false;
  std::optional<FittingBatch> batch;
  std::optional<ExpectedError> error;
  std::string against;              // --against; empty: not asked
  std::optional<Prediction> other;  // of that device
};

// What was asked, and of which machine.
struct PredictedRun {
  std::string device;  // as --device has it
  const DeviceProfile& profile;
  const PredictSettings& settings;
  const Prediction& prediction;
  const RunOutlook* outlook = nullptr;
};

Json prediction_json(const PredictedRun& run);
std::string prediction_text(const PredictedRun& run);  // of one that fits

// "± 6.6 %, at most 10.1 % (12 rows: …)"
std::string expected_error_text(const std::optional<ExpectedError>& error,
                                const IdentityProfile& machine);
Json expected_error_json(const std::optional<ExpectedError>& error);

Json fit_json(const std::string& device, const PredictSubject& subject, const FittingBatch& batch);
std::string fit_text(const std::string& device, const PredictSubject& subject,
                     const FittingBatch& batch);

// What of the profile's alloc_conf has no effect; empty: nothing.
std::string alloc_note(const DeviceProfile& profile);

}  // namespace nb::cli
