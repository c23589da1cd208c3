// The identity of trained weights: equal digests, equal models, whatever optimizer state, clock or
// device stands beside them in the checkpoint.
#pragma once

#include <string>

#include "harness/base/result.hpp"

namespace nb {

class SafetensorsFile;

// SHA-256 over name, type, shape and bytes of the model's tensors (nanochat's names), in order of
// name.
Result<std::string> weights_digest(const SafetensorsFile& checkpoint);

}  // namespace nb
