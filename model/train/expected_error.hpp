// How far predictions of a kind were from what was measured: `predict --validate` in a line.
#pragma once

#include <optional>
#include <string_view>

#include "model/device/profile.hpp"

namespace nb {

struct ExpectedError {
  double mean = 0, largest = 0;  // of the step's time, absolute; largest 0: not known of each row
  int rows = 0;
  std::string_view of;  // what was measured
};

// closed_form: Megatron's models; else nanochat's dry steps of BASE. Nothing: no run of the kind
// was measured, or the machine is known by its data sheet alone. A test holds the table against the
// validation.
std::optional<ExpectedError> expected_error(bool closed_form, const IdentityProfile& device);

}  // namespace nb
