// A series in the cell of a table: a line for pages, a row of blocks where there is only text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "results/stats/stats.hpp"

namespace nb {

// "▁▂▂▇" from the lowest to the highest value; of equal values "▄▄▄▄". The newest where there are
// more than `most`.
std::string sparkline_text(std::span<const double> values, std::size_t most = 24);
// An <svg> of 150 × 26 pixels in the text's own colour: the values in their order, a dashed line
// before each index of `changes`, a dot at the newest. label: for those who do not see it.
std::string sparkline_svg(std::span<const double> values, std::span<const std::size_t> changes,
                          const std::string& label);

// The same size: an interval as a line with a dot at the value, zero as a dashed line in the
// middle; `scale` > 0 is what its half width stands for.
std::string interval_svg(double value, const std::optional<Interval>& interval, double scale,
                         const std::string& label);

}  // namespace nb
