// The model and the training that a row of a table describes, from what it says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/audit/sizes.hpp"
#include "results/audit/table.hpp"

namespace nb {

// The value where it is reported and above 0 (nanochat prints -1 for "calculated").
std::optional<double> positive(const ReportedRun& run, const ReportedStage& stage,
                               std::string_view fact);
// Nothing without a depth, or of a size that no model has.
std::optional<NanochatShape> shape_of(const ReportedRun& run, const ReportedStage& stage);
// As reported, else those that the depth allows; empty: neither is known.
std::vector<double> parameters_of(const ReportedRun& run, const ReportedStage& stage);
// As reported, else steps × batch.
std::optional<double> tokens_of(const ReportedRun& run, const ReportedStage& stage);
// Floating-point operations of a token, as reported, else of the shape.
std::optional<double> flops_of(const ReportedRun& run, const ReportedStage& stage);

// The nearest whole number: "1,204"; "1e+308" from where doubles skip some.
std::string whole_text(double value);

// Equal within `share`, beyond what the digits of both hide.
bool is_near(double a, double b, double share, double hidden = 0);

}  // namespace nb
