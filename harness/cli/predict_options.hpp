// What `npubench predict` and its commands were asked for, and the one function that answers.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/predict_calibrate.hpp"
#include "harness/cli/predict_megatron.hpp"
#include "harness/cli/predict_mesh.hpp"
#include "harness/cli/predict_validate.hpp"
#include "harness/predict/request.hpp"

namespace nb::cli {

struct PredictOptions {
  PredictRequest request;
  MegatronFlags megatron;
  MeshFlags mesh;
  ValidateOptions validate;
  CalibrateOptions calibrate;
  std::vector<std::string> sweeps;
  std::string trace, plot, claims, against;
  bool fit_batch = false, csv = false, json = false;
};

// Prints the answer; returns the exit code.
int predict_verb(PredictOptions& options);

}  // namespace nb::cli
