// One OpDesc of every kind, with sizes of a small model, and profiles that tests can count on.
#pragma once

#include <string>
#include <vector>

#include "model/device/op_desc.hpp"
#include "model/device/profile.hpp"

namespace nb::test {

// Sizes that all kinds read: 2 × 8 tokens, 4 heads of 16, 64 channels, 256 words.
OpDesc sample_op(OpKind kind);
std::vector<OpDesc> sample_ops();
bool is_collective(OpKind kind);

DeviceProfile profile(const std::string& name);  // throws when it does not load

}  // namespace nb::test
