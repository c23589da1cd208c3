// What a column of a training curve is, by its name: unit, better side, clock, and whether two runs
// of one recipe must have it equal. The names that sources use for them: training/columns.hpp.
#pragma once

#include <string_view>

#include "results/store/curve.hpp"
#include "results/store/series.hpp"
#include "results/store/store.hpp"

namespace nb {

namespace column {
inline constexpr std::string_view kTrainLoss = "train_loss";
inline constexpr std::string_view kValLoss = "val_loss";
inline constexpr std::string_view kValBpb = "val_bpb";
inline constexpr std::string_view kReward = "reward";
inline constexpr std::string_view kCore = "core";
inline constexpr std::string_view kLearningRate = "learning_rate";
inline constexpr std::string_view kLrMultiplier = "lr_multiplier";
inline constexpr std::string_view kGradNorm = "grad_norm";
inline constexpr std::string_view kStepTime = "step_time_ns";
inline constexpr std::string_view kThroughput = "throughput_tok_s";
inline constexpr std::string_view kCardThroughput = "throughput_tok_s_card";
inline constexpr std::string_view kCardFlops = "flop_s_card";
inline constexpr std::string_view kMfu = "mfu";
inline constexpr std::string_view kMemory = "peak_memory_bytes";
inline constexpr std::string_view kTokens = "tokens";
inline constexpr std::string_view kSamples = "samples";
}  // namespace column

struct KnownColumn {
  std::string_view name, unit;
  Direction direction;
  Clock clock;
  bool exact;  // arithmetic on step numbers: a recipe gives the same values on every device
};
const KnownColumn* known_column(std::string_view name);  // nullptr: none
// Without values; of a name that is not known neither unit nor better side.
CurveColumn column_named(std::string_view name);

// steps.csv and back. Values that are not finite have no place there: empty cells.
Result<std::string> curve_csv(const Curve& curve, const std::string& where);
Curve curve_of(const Series& series);
Series series_of(const Curve& curve);

// The curve of an imported training: in memory, else its steps.csv, whose digest is checked. Empty:
// it has none.
Result<std::shared_ptr<const Curve>> stored_curve(const StoredRecord& stored);

}  // namespace nb
