// Says which tensors a file lacks and which it has too many: a model is loaded whole and exactly,
// or not at all. Pure.
#pragma once

#include <set>
#include <string>

#include "harness/base/result.hpp"

namespace nb {

// bad_input that names some of each; `model` says what was expected: "gpt2 of 12 layers".
Result<void> check_tensor_names(const std::set<std::string>& expected,
                                const std::set<std::string>& present, const std::string& where,
                                const std::string& model);

}  // namespace nb
