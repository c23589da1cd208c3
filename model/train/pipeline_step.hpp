// run_mesh_step() of a mesh with pp: all ranks run, dry, each in a thread. For mesh_step.cpp.
#pragma once

#include "model/train/mesh_step.hpp"

namespace nb {

MeshStep run_pipeline_step(const MeshStepRequest& request, const DeviceProfile& profile);

}  // namespace nb
