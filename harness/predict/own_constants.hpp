// `npubench predict --calibration FILE`: constants of the user's own machine, as `npubench profile
// --fit` wrote them, in place of the shipped ones.
#pragma once

#include <string>

#include "harness/base/result.hpp"
#include "model/device/profile.hpp"
#include "model/predict/family_values.hpp"

namespace nb {

// file: empty: nothing is done. bad_input: a file that is none, or of another device.
Result<void> put_own_constants(DeviceProfile& device, const std::string& file);
// The same for the rows of predict validate: those of the file's device.
Result<OwnConstants> own_constants(const std::string& file);
// "my.json: matrix_efficiency 0.61, … in place of the shipped ones".
Result<std::string> own_constants_text(const std::string& file);

}  // namespace nb
