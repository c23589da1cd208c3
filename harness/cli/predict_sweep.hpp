// A sweep as a table, CSV, JSON and a plot: `npubench predict sweep FIELD=a,b,c`.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/predict/sweep.hpp"
#include "report/plot.hpp"

namespace nb::cli {

std::string sweep_text(const Sweep& sweep);
std::string sweep_csv(const Sweep& sweep);
Json sweep_json(const Sweep& sweep);
// Throughput over the last field, a line for each value of the others; bars where its values are no
// numbers. bad_input: nothing fits, more lines than can be told apart.
Result<Plot> sweep_plot(const Sweep& sweep);

}  // namespace nb::cli
