// How predictions are shown: one as JSON and as a table of 80 columns. Reads values, computes
// nothing.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/cli/predict_ask.hpp"
#include "model/device/profile.hpp"
#include "model/train/fit_batch.hpp"
#include "model/train/predict.hpp"

namespace nb::cli {

// What was asked, and of which machine.
struct PredictedRun {
  std::string device;  // as --device has it
  const DeviceProfile& profile;
  const PredictSettings& settings;
  const Prediction& prediction;
};

Json prediction_json(const PredictedRun& run);
std::string prediction_text(const PredictedRun& run);  // of one that fits

Json fit_json(const std::string& device, const PredictSubject& subject, const FittingBatch& batch);
std::string fit_text(const std::string& device, const PredictSubject& subject,
                     const FittingBatch& batch);

// What of the profile's alloc_conf has no effect; empty: nothing.
std::string alloc_note(const DeviceProfile& profile);

}  // namespace nb::cli
