#include "results/store/curve_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/table.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

constexpr auto kLower = Direction::kLower;
constexpr auto kHigher = Direction::kHigher;
constexpr auto kNoSide = Direction::kNone;

constexpr auto kColumns = std::to_array<KnownColumn>({
    {column::kTrainLoss, "nat", kLower, Clock::kNone, false},
    {column::kValLoss, "nat", kLower, Clock::kNone, false},
    {"test_loss", "nat", kLower, Clock::kNone, false},
    {column::kValBpb, "bit/byte", kLower, Clock::kNone, false},
    {column::kReward, "1", kHigher, Clock::kNone, false},
    {"token_accuracy", "1", kHigher, Clock::kNone, false},
    {"val_token_accuracy", "1", kHigher, Clock::kNone, false},
    {"val_accuracy", "1", kHigher, Clock::kNone, false},
    {"reward_accuracy", "1", kHigher, Clock::kNone, false},
    {column::kCore, "1", kHigher, Clock::kNone, false},
    {"chatcore", "1", kHigher, Clock::kNone, false},
    {column::kLearningRate, "1", kNoSide, Clock::kNone, true},
    {column::kLrMultiplier, "1", kNoSide, Clock::kNone, true},
    {column::kGradNorm, "1", kNoSide, Clock::kNone, false},
    {"loss_scale", "1", kNoSide, Clock::kNone, false},
    {"batch_samples", "1", kNoSide, Clock::kNone, true},
    {"batch_tokens", "1", kNoSide, Clock::kNone, false},
    {"epoch", "1", kNoSide, Clock::kNone, false},
    {column::kTokens, "1", kNoSide, Clock::kNone, false},
    {column::kSamples, "1", kNoSide, Clock::kNone, false},
    {column::kStepTime, "ns", kLower, Clock::kDevice, false},
    {column::kThroughput, "tok/s", kHigher, Clock::kDevice, false},
    {column::kCardThroughput, "tok/s", kHigher, Clock::kDevice, false},
    {"samples_s", "1/s", kHigher, Clock::kDevice, false},
    {"steps_s", "1/s", kHigher, Clock::kDevice, false},
    {column::kCardFlops, "flop/s", kHigher, Clock::kDevice, false},
    {column::kMfu, "1", kHigher, Clock::kDevice, false},
    {column::kMemory, "byte", kLower, Clock::kDevice, false},
});

const Json::json_pointer& not_finite_at() {
  static const Json::json_pointer kAt("/imported/not_finite_from");
  return kAt;
}

}  // namespace

const KnownColumn* known_column(std::string_view name) {
  const auto found = std::ranges::find(kColumns, name, &KnownColumn::name);
  return found == kColumns.end() ? nullptr : &*found;
}

CurveColumn column_named(std::string_view name) {
  CurveColumn column;
  column.name = name;
  if (const KnownColumn* known = known_column(name)) {
    column.unit = known->unit;
    column.direction = known->direction;
    column.clock = known->clock;
  }
  return column;
}

Result<std::string> curve_csv(const Curve& curve, const std::string& where) {
  std::vector<std::string> cells = {"step"};
  for (const CurveColumn& column : curve.columns) cells.push_back(column.name);
  std::string text = csv_line(cells) + "\n";
  for (std::size_t row = 0; row < curve.steps.size(); ++row) {
    if (row > 0 && curve.steps[row] <= curve.steps[row - 1])
      return bad_input(where + ": steps must rise");
    text += std::to_string(curve.steps[row]);
    for (const CurveColumn& column : curve.columns) {
      text += ',';
      if (std::isfinite(column.values[row])) text += number_text(column.values[row]);
    }
    text += '\n';
  }
  return text;
}

Curve curve_of(const Series& series) {
  Curve curve;
  curve.steps = series.steps;
  for (std::size_t i = 0; i < series.columns.size(); ++i) {
    CurveColumn column = column_named(series.columns[i]);
    column.values.reserve(series.steps.size());
    for (const auto& value : series.values[i]) column.values.push_back(value.value_or(NAN));
    curve.columns.push_back(std::move(column));
  }
  return curve;
}

Series series_of(const Curve& curve) {
  Series series;
  series.steps = curve.steps;
  for (const CurveColumn& column : curve.columns) {
    series.columns.push_back(column.name);
    auto& values = series.values.emplace_back();
    for (const double value : column.values)
      values.push_back(std::isfinite(value) ? std::optional(value) : std::nullopt);
  }
  return series;
}

Result<std::shared_ptr<const Curve>> stored_curve(const StoredRecord& stored) {
  if (stored.curve) return stored.curve;
  if (!is_imported(stored.record) || !stored.record.artifacts.contains(metric::kSeriesFile))
    return std::shared_ptr<const Curve>();
  NB_TRY_VOID(verify_artifact(stored, metric::kSeriesFile));
  NB_TRY(const Series series, read_series(stored.folder / metric::kSeriesFile));
  Curve curve = curve_of(series);
  const Json& settings = *stored.record.settings;
  if (settings.is_object() && settings.contains(not_finite_at()))
    for (CurveColumn& column : curve.columns) {
      const Json& steps = settings.at(not_finite_at());
      const auto at = steps.find(column.name);
      if (at != steps.end() && at->is_number_integer())
        column.not_finite_from = at->get<std::int64_t>();
    }
  return std::make_shared<const Curve>(std::move(curve));
}

}  // namespace nb
