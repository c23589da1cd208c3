// What can be known before work starts: which nodes will run, whether their data are there and
// whole, whether disk and memory suffice, whether the results folder can be written. Seconds
// instead of a lost night.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/plan/expectation.hpp"
#include "harness/run/node_state.hpp"
#include "harness/run/runner.hpp"
#include "model/train/predict.hpp"

namespace nb {

struct NodeForecast {
  NodeCondition condition = NodeCondition::kAbsent;
  bool will_run = true;
  Expectation expected;
};

struct Forecast {
  std::vector<NodeForecast> nodes;  // in plan order
  int to_run = 0;
  int resumed = 0;  // of them, where an interrupted run left off
  int reused = 0;
  double time_s = 0;                    // of the nodes that will run
  std::uint64_t disk_bytes = 0;         // the same
  std::uint64_t peak_memory_bytes = 0;  // the largest of them
};

// Reads the store, creates nothing. Damaged files are found when a node is about to be reused, not
// here.
Forecast forecast(const Plan& plan, const RunOptions& options);

// bad_input that names every file of the data manifest that the nodes to run need and that is not
// under the data folder, with the command that gets them. Presence alone, no checksum.
Result<void> check_data_is_there(const Plan& plan, const RunOptions& options,
                                 const Forecast& forecast);

// Errors: data missing or altered (checksum named), a training that does not fit its simulated
// device (the device's words), disk or memory of this computer too small, results folder not
// writable.
Result<void> preflight(const Plan& plan, const RunOptions& options, const Forecast& forecast);

// Asked of the nearest folder that exists, so that nothing is made.
Result<void> check_writable(const std::filesystem::path& results_dir);

// "the largest device batch that fits is 24 (of those that divide the step: 16)".
std::string largest_batch_text(const Prediction& prediction);

// "12 nodes: 9 to run, 3 reused; about 25 s, 40 MiB disk, 310 MiB memory"
std::string forecast_text(const Forecast& forecast);

}  // namespace nb
