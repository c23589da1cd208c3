// `npubench compare A B --flips`: the items whose score changed, one by one.
#pragma once

#include <cstdint>
#include <string>

#include "harness/cli/options.hpp"
#include "results/compare/compare.hpp"

namespace nb::cli {

struct FlipOptions {
  bool is_asked = false;
  std::int64_t limit = 20;
  std::string task, data_dir;
};
void add_flip_options(CLI::App& app, FlipOptions& options);

// Prints them, or says that there are none and why. Errors: an unknown task.
int print_flips(const Comparison& comparison, const FlipOptions& options, bool json);

}  // namespace nb::cli
