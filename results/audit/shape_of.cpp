#include "results/audit/shape_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/table.hpp"
#include "results/audit/fact_names.hpp"

namespace nb {

std::optional<double> positive(const ReportedRun& run, const ReportedStage& stage,
                               std::string_view name) {
  const Printed* value = run.fact(stage, name);
  if (value == nullptr || value->value <= 0) return std::nullopt;
  return value->value;
}

std::optional<NanochatShape> shape_of(const ReportedRun& run, const ReportedStage& stage) {
  const auto depth = positive(run, stage, fact::kDepth);
  if (!depth) return std::nullopt;
  const double width = *depth * positive(run, stage, fact::kAspectRatio).value_or(64);
  const double vocab = positive(run, stage, fact::kVocab).value_or(65536);
  const double sequence = positive(run, stage, fact::kSequence).value_or(2048);
  constexpr double kMost = 1e9;
  if (std::max({*depth, width, vocab, sequence}) > kMost) return std::nullopt;
  NanochatShape shape;
  shape.depth = std::llround(*depth);
  shape.width = std::llround(width);
  shape.vocab = std::llround(vocab);
  shape.sequence = std::llround(sequence);
  return shape;
}

std::vector<double> parameters_of(const ReportedRun& run, const ReportedStage& stage) {
  if (const auto reported = positive(run, stage, fact::kParameters)) return {*reported};
  const auto shape = shape_of(run, stage);
  return shape ? parameter_counts(*shape) : std::vector<double>();
}

std::optional<double> tokens_of(const ReportedRun& run, const ReportedStage& stage) {
  if (const auto reported = positive(run, stage, fact::kTokens)) return reported;
  const auto steps = positive(run, stage, fact::kIterations);
  const auto batch = positive(run, stage, fact::kTotalBatch);
  if (!steps || !batch) return std::nullopt;
  return *steps * *batch;
}

std::optional<double> flops_of(const ReportedRun& run, const ReportedStage& stage) {
  if (const auto reported = positive(run, stage, fact::kFlopsPerToken)) return reported;
  const auto shape = shape_of(run, stage);
  if (!shape) return std::nullopt;
  return flops_per_token(*shape);
}

std::string whole_text(double value) {
  constexpr double kExact = 9e15;  // below 2^53
  return std::abs(value) < kExact ? with_commas(std::llround(value)) : fmt::format("{:.4g}", value);
}

bool is_near(double a, double b, double share, double hidden) {
  return std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b)) + hidden;
}

}  // namespace nb
