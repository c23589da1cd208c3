// How predictions are shown: one as JSON and as a table of 80 columns. Reads values, computes
// nothing.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "model/device/profile.hpp"
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

}  // namespace nb::cli
