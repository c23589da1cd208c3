// What is judged of two imported trainings' curves (curve_comparison.hpp): rule 8 of README.md with
// the curves' own noise as the bound. Rates and memory are metrics of the record and judged there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/compare/gross_change.hpp"
#include "results/gate/gate_collect.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/curve_columns.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// The record states the same as a total, which is judged over seeds.
bool is_a_metric(const Record& record, const std::string& name) {
  return deterministic(record, name) != nullptr || deterministic(record, "min_" + name) != nullptr;
}

void judge_column(Gate& gate, const ColumnComparison& column, const std::string& by,
                  const std::string& where) {
  TaskVerdict v;
  v.metric = column.name;
  v.where = where;
  v.test = "curve";
  v.uncalibrated = true;
  const Sentence sentence = column_sentence(column, by);
  if (column.last) {
    v.a = column.last->a;
    v.b = column.last->b;
    v.difference = column.last->difference;
    v.margin = column.limit;
  }
  const Sentence limit =
      message("gate.curve_limit", value_text(column.limit, column.unit), column.basis);
  if (column.broken_b && column.worse) {
    v.verdict = Verdict::kRegressed;
    v.reason = sentence;
  } else if (!column.last) {
    v.verdict = Verdict::kInconclusive;
    v.a = column.end_a.last;
    v.b = column.end_b.last;
    v.reason = message("gate.none_in_common", by);
  } else if (column.equal_points == column.points) {
    v.verdict = Verdict::kPass;
    v.reason = message("gate.equal_points", column.points);
  } else if (column.worse) {
    v.verdict = Verdict::kRegressed;
    v.reason = message("gate.beyond_noise", sentence, limit);
  } else if (column.better) {
    v.verdict = Verdict::kSuspicious;
    v.reason = message("gate.beyond_noise", sentence, limit);
    append(v.reason, message("seeds.too_good"));
  } else if (column.was_worse) {
    v.verdict = Verdict::kSuspicious;
    v.reason = message("gate.was_worse", sentence, by, column.largest->from, column.largest->to,
                       signed_text(column.largest->difference, column.unit), limit);
  } else {
    v.verdict = Verdict::kInconclusive;
    v.reason = message("gate.curve_excluded", sentence, limit);
  }
  gate.result.verdicts.push_back(std::move(v));
}

// Rates and memory of a device: gross changes alone.
void judge_clock(Gate& gate, const ColumnComparison& column, const std::string& where) {
  if (column.direction == Direction::kNone || column.typical_a == column.typical_b) return;
  const auto gross = gross_change(column.typical_a, column.typical_b, column.unit, false);
  const bool is_worse =
      (column.typical_b > column.typical_a) == (column.direction == Direction::kLower);
  if (!gross || !gross->is_beyond || !is_worse) return;
  TaskVerdict v;
  v.metric = column.name;
  v.where = where;
  v.test = "curve";
  v.a = column.typical_a;
  v.b = column.typical_b;
  v.difference = column.typical_b - column.typical_a;
  v.uncalibrated = true;
  v.verdict = Verdict::kRegressed;
  v.reason =
      message("gate.device_clock",
              fmt::format("{} → {}", value_text(*v.a, column.unit), value_text(*v.b, column.unit)),
              gross->bound);
  gate.result.verdicts.push_back(std::move(v));
}

// The record's own times and rates are judged already (gate_imported.cpp); columns follow from
// them.
bool has_costs(const RecordPair& pair) {
  return std::ranges::any_of(pair.metrics, [](const MetricDifference& row) {
    return row.clock == Clock::kDevice && row.difference && row.unit != "byte";
  });
}

}  // namespace

std::optional<SeedNoise> noise_of_imported(const StoredRecord& training, double value) {
  const auto curve = stored_curve(training);
  const auto relative = curve && *curve ? relative_noise(**curve) : std::nullopt;
  if (!relative) return std::nullopt;
  SeedNoise noise = noise_of_curve(value, *relative);
  noise.sd = std::max(noise.sd, rounding_floor(value) / (kGrossDeviations * std::sqrt(2.)));
  return noise;
}

void judge_curves_of(Gate& gate, const RecordPair& pair) {
  const std::string where = describe(pair.a->record);
  if (!pair.curve_error.empty())
    gate.add("", where, Verdict::kError, "record", verbatim(pair.curve_error));
  if (!pair.curves) {
    if (pair.curve_error.empty() && pair.a->record.artifacts.contains(metric::kSeriesFile))
      gate.add("", where, Verdict::kError, "record", message("gate.no_curve"));
    return;
  }
  for (const std::string& name : pair.curves->only_a)
    if (column_named(name).direction != Direction::kNone &&
        column_named(name).clock == Clock::kNone)
      gate.add(name, where, Verdict::kError, "record", message("gate.no_column"));
  for (const ColumnComparison& column : pair.curves->columns) {
    if (column.is_exact && column.differs_at) {
      const Sentence changed =
          message("gate.curve_setting", column.name, fmt::format("{:.6g}", column.exact_a),
                  fmt::format("{:.6g}", column.exact_b), *column.differs_at,
                  column.differing_points, column.points);
      if (gate.policy.allow_procedure_change)
        gate.result.notes.push_back(message("gate.allowed", where, changed));
      else
        gate.add(column.name, where, Verdict::kSuspicious, "curve", changed);
    }
    if (column.clock != Clock::kNone) {
      if (!has_costs(pair)) judge_clock(gate, column, where);
      continue;
    }
    if (column.is_exact || column.direction == Direction::kNone) continue;
    if (is_a_metric(pair.a->record, column.name) && !column.broken_b) continue;
    judge_column(gate, column, pair.curves->aligned_by, where);
  }
}

}  // namespace nb
