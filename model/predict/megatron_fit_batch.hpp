// How many rows a micro-batch of a Megatron job may have: of its steady peak, in closed form.
#pragma once

#include "model/predict/megatron_job.hpp"
#include "model/train/fit_batch.hpp"

namespace nb {

// The pipeline is taken to be full: as many micro-batches as it has stages, whatever the global
// batch. job.run.micro_batch and global_batch decide nothing; the rest is as check_job wants it.
FittingBatch megatron_fit_batch(const MegatronJob& job, double capacity_bytes);

}  // namespace nb
