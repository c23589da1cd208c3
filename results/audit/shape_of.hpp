// The model and the training that a row of a table describes, from what it says.
#pragma once

#include <optional>
#include <vector>

#include "results/audit/sizes.hpp"
#include "results/audit/table.hpp"

namespace nb {

// The value where it is reported and above 0 (nanochat prints -1 for "calculated").
std::optional<double> positive(const ReportedRun& run, const ReportedStage& stage,
                               std::string_view fact);
// Nothing without a depth.
std::optional<NanochatShape> shape_of(const ReportedRun& run, const ReportedStage& stage);
// As reported, else those that the depth allows; empty: neither is known.
std::vector<double> parameters_of(const ReportedRun& run, const ReportedStage& stage);
// As reported, else steps × batch.
std::optional<double> tokens_of(const ReportedRun& run, const ReportedStage& stage);
// Floating-point operations of a token, as reported, else of the shape.
std::optional<double> flops_of(const ReportedRun& run, const ReportedStage& stage);

// Equal within `share`, beyond what the digits of both hide.
bool is_near(double a, double b, double share, double hidden = 0);

}  // namespace nb
