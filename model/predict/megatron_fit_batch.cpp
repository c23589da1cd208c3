#include "model/predict/megatron_fit_batch.hpp"

#include "model/predict/megatron_memory.hpp"

namespace nb {

FittingBatch megatron_fit_batch(const MegatronJob& job, double capacity_bytes) {
  MegatronJob trial = job;
  const auto needed = [&](std::int64_t rows) {
    trial.run.micro_batch = rows;
    trial.run.global_batch = rows * trial.run.dp() * trial.run.pp;
    return megatron_memory(trial).steady_peak_bytes;
  };
  // Peaks grow with the rows: double, then halve what lies between.
  std::int64_t fits = 0, too_many = 1;
  while (needed(too_many) <= capacity_bytes) {
    fits = too_many;
    too_many *= 2;
  }
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (needed(middle) <= capacity_bytes ? fits : too_many) = middle;
  }
  FittingBatch batch;
  batch.rows = fits;
  batch.capacity_bytes = static_cast<std::uint64_t>(capacity_bytes);
  batch.needed_bytes = fits > 0 ? static_cast<std::uint64_t>(needed(fits)) : 0;
  batch.next_needed_bytes = static_cast<std::uint64_t>(needed(too_many));
  return batch;
}

}  // namespace nb
