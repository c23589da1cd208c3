// How much of one run's scores another keeps: raw and above guessing, with intervals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/audit/table.hpp"

namespace nb {

struct Retention {
  std::string stage, label;
  double raw = 0;                 // score / score
  std::optional<Interval> raw95;  // of the ratio of two shares (Katz); empty: an n is not known
  // Centred score / centred score; empty where `against` is not 2 standard errors above guessing,
  // since the ratio then says nothing.
  std::optional<double> centred;
};
// Cells that both runs have in stages of the same name, composites too; in the order of `against`.
std::vector<Retention> retention_of(const ReportedRun& run, const ReportedRun& against);

}  // namespace nb
