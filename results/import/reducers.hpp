// How inspect_ai makes one value of the samples (epochs) of an item. A log names its reducers:
// "mean", "median", "mode", "max", "at_least_2", "pass_at_2", "pass_k_2".
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace nb {

bool is_known_reducer(std::string_view name);  // empty: "mean"
// Of the samples' values in the order of their epochs, at least one. Nothing where fewer samples
// than k are there, as pass_at and pass_k need; a name that is not known is a defect of the caller.
std::optional<double> reduced(std::string_view name, std::span<const double> values);

}  // namespace nb
