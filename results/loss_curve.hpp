// What two training curves (steps.csv) of the same seed say about the training procedure. Both
// sides start from the same weights and read the same data in the same order, so the first steps
// can differ by rounding only, unless the procedure changed: rounding grows chaotically over
// hundreds of steps, another learning rate, batch, mask or data shows in the first. Decides
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "results/series.hpp"
#include "results/store.hpp"

namespace nb {

// The first value of the first steps that rounding does not explain.
struct CurveDeparture {
  std::string column;  // "train_loss", "lr_multiplier", "val_bpb"
  std::int64_t step = 0;
  double a = 0, b = 0;
  double relative = 0;           // |b − a| / max(|a|, |b|)
  double limit = 0;              // what rounding explains
  bool before_learning = false;  // in the first row: no weight had been updated yet
};
std::optional<CurveDeparture> curve_departure(const Series& a, const Series& b);
std::string departure_text(const CurveDeparture& departure);

// Spread of the training loss from one step to the next, relative to its mean, over the last half
// of the curve: the noise of single batches. SD of successive differences / √2 (von Neumann 1941),
// which a falling curve widens; nothing with fewer than 8 steps.
std::optional<double> relative_step_noise(const Series& series);

Result<Series> read_curve(const StoredRecord& training);  // its steps.csv, digest checked

}  // namespace nb
