// `npubench predict --mesh`: a step of BASE on cards that share it as a suite's mesh does, and what
// tensor and pipeline parallel ranks would send.
#pragma once

#include <string>

#include "harness/predict/request.hpp"

namespace nb::cli {

struct MeshFlags {
  std::string mesh;       // {"dp": 2, "fsdp": 2} or dp=2,fsdp=2; empty: not asked
  std::string lora_rank;  // of adapters on every product beside frozen weights; empty: none
};

// The exit code: 4 where no batch, or not the given one, fits.
int show_mesh(const PredictRequest& request, const MeshFlags& flags, bool json);

}  // namespace nb::cli
