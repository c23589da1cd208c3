// What two training curves (steps.csv) of the same seed say about the training procedure. Two kinds
// of columns: what no rounding changes (which tokens were read, learning rates) is compared in
// every step, whatever weights the sides began with. Losses only where both began with the same
// weights, and in their first steps: rounding grows chaotically over hundreds of steps, another
// learning rate, batch, mask or data shows in the first. Decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "results/messages/message.hpp"
#include "results/store/series.hpp"
#include "results/store/store.hpp"

namespace nb {

// The first value that rounding does not explain.
struct CurveDeparture {
  std::string column;  // "train_loss", "lr_multiplier", "batch_hash"
  std::int64_t step = 0;
  double a = 0, b = 0;
  double relative = 0;  // |b − a| / scale
  double limit = 0;     // of it: what rounding explains; 0: nothing, the column is exact
  // max(|a|, |b|), or what the values are sums of where they cancel, in the column's unit.
  double scale = 0;
  bool before_learning = false;  // in the first row: no weight had been updated yet
};
// same_start: both sides are known to have begun with the same weights. Without that only exact
// columns are compared. A column that a side lacks is not compared.
std::optional<CurveDeparture> curve_departure(const Series& a, const Series& b,
                                              bool same_start = true);
Sentence departure_sentence(const CurveDeparture& departure);

// Spread of the training loss from one step to the next, relative to its mean, over the last half
// of the curve: the noise of single batches. SD of successive differences / √2 (von Neumann 1941),
// which a falling curve widens; nothing with fewer than 8 steps.
std::optional<double> relative_step_noise(const Series& series);

Result<Series> read_curve(const StoredRecord& training);  // its steps.csv, digest checked

}  // namespace nb
