// What a mesh should be told of frozen weights.
#pragma once

#include <string>

#include "model/train/mesh_step.hpp"

namespace nb {

// Where adapters are trained beside frozen weights that every rank of a sharded mesh gathers again
// and again, and copies of them fit: "dp 4 sends 5,600 × less here: …". Empty: nothing to say.
std::string frozen_weights_finding(const MeshStepRequest& request, const MeshStep& step,
                                   const DeviceProfile& profile);

}  // namespace nb
