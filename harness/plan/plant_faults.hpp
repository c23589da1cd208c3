// Faults of ranks (harness/faults) put into the entries of the devices whose ranks they concern.
#pragma once

#include <span>
#include <string>

#include "harness/base/result.hpp"
#include "harness/suite/suite.hpp"

namespace nb {

// The suite with what it says of faults, and `more` ("kill:rank=3,step=20"), in the entries of its
// devices that have a mesh; what nobody would meet is not in them. Errors: a fault that cannot be
// read, a rank or a step that is not there, faults and no device that would meet them (bad_input);
// a variable of the environment that HCCL would refuse (run_error, EI0001).
Result<Suite> plant_faults(Suite suite, std::span<const std::string> more,
                           const std::string& where);

}  // namespace nb
