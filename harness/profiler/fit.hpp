// From a profile to constants of the user's own machine: each with a range and how it was found, or
// the reason why the shipped one stays. Nothing shipped is overwritten: `predict --calibration`
// takes the file where it is named.
#pragma once

#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"
#include "harness/base/result.hpp"
#include "harness/profiler/analysis.hpp"
#include "model/device/profile.hpp"

namespace nb::profiler {

struct FittedConstant {
  std::string name;                     // "matrix_efficiency"
  double value = 0, low = 0, high = 0;  // 95 %
  std::string unit, how;
  std::int64_t n = 0;  // kernels, sizes or ranks
  double shipped = 0;
};
struct KeptConstant {
  std::string name;
  double shipped = 0;
  Said reason;
};
// The half of the kernels that did not fit, priced with what the other half says.
struct FitCheck {
  std::int64_t kernels = 0;
  double error = 0, shipped_error = 0;  // mean relative
};
struct Calibration {
  std::string family, device;
  std::vector<std::string> from;
  std::vector<FittedConstant> constants;
  std::vector<KeptConstant> kept;
  FitCheck check;
};

Calibration fit(const Analysis& analysis, const DeviceProfile& device);
std::string text_of(const Calibration& calibration, Language language);
// Schema npubench.calibration/1.
Json json_of(const Calibration& calibration, Language language);

// bad_input: another schema, an unknown constant, a value beyond its physical limits, each with its
// place.
Result<Calibration> parse_calibration(const Json& json, const std::string& where);
// Only the constants that were fitted. bad_input: of another device.
Result<void> apply_calibration(DeviceProfile& device, const Calibration& calibration,
                               const std::string& where);

}  // namespace nb::profiler
