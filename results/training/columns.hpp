// The names that trainers and trackers give to what curve_columns.hpp knows.
#pragma once

#include <string>
#include <string_view>

#include "results/store/curve_columns.hpp"

namespace nb {

inline constexpr double kMiB = 1024. * 1024, kGiB = 1024 * kMiB;  // bytes

struct SourceColumn {
  std::string name;   // of curve_columns.hpp, or the source's own
  double factor = 1;  // our unit in units of the source
};
// "train/loss" → train_loss; "mfu(%)" → mfu × .01; a name that is not known stays as it is. Case,
// and which of "/", " ", "-", "_" joins the words, do not count.
SourceColumn source_column(std::string_view name);
// A column that only repeats the step, "train/global_step".
bool is_step_name(std::string_view name);

}  // namespace nb
