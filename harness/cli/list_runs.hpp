// `npubench runs list` and `runs metrics`: what lies in a results folder. For list.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/cli/options.hpp"

namespace nb::cli {

struct RunListOptions {
  std::string results_dir;
  std::string run;                    // metrics: of this run only
  std::optional<std::int64_t> limit;  // runs: the newest; 0: all
};
void add_run_options(CLI::App& runs, RunListOptions& options);
void add_metric_options(CLI::App& metrics, RunListOptions& options);

// Both print and return the exit code.
int list_runs(const RunListOptions& options, bool json);
int list_metrics(const RunListOptions& options, bool json);

}  // namespace nb::cli
