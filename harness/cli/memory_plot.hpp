// A step's memory as a picture: `predict --plot FILE`.
#pragma once

#include <string>

#include "model/train/dry_step.hpp"
#include "report/plot.hpp"

namespace nb::cli {

// GiB over milliseconds, what holds them on top of each other, and the capacity as a line. Drawn
// of each of 400 parts is the fullest moment.
Plot memory_plot(const MemoryOverStep& memory, const std::string& title);

}  // namespace nb::cli
