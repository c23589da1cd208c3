// npubench compare tensors: its options and its work.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/options.hpp"
#include "harness/run/open_model.hpp"
#include "harness/run/tensor_comparison.hpp"

namespace nb::cli {

struct TensorOptions {
  bool is_asked = false;
  ModelChoice model;  // what runs A's tokens, instead of B
  std::string keep;   // file of its tensors; empty: not kept
  TensorTolerance tolerance;
};
// The options that it declared.
std::vector<CLI::Option*> add_tensor_options(CLI::App& app, TensorOptions& options);
// a, b: runs or files; b empty where there is a model. The exit code.
int compare_tensors(const std::string& a, const std::string& b, const TensorOptions& options,
                    bool json);

}  // namespace nb::cli
