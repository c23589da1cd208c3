// --higher and --lower, for the verbs that judge results of other harnesses.
#pragma once

#include "harness/cli/options.hpp"
#include "results/store/stated_directions.hpp"

namespace nb::cli {

void add_directions(CLI::App& app, StatedDirections& directions);

}  // namespace nb::cli
