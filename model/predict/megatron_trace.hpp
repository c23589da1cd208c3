// A step of the closed form as Chrome trace JSON (Perfetto): a process a stage of the pipeline, a
// slice a micro-batch, forward and backward together, cut by what its time goes to; then the
// replicas' exchange and the optimizer. The last slice ends at step_ns. Kernels of a class are one
// slice: the closed form knows their sum, no order.
#pragma once

#include "harness/base/json_io.hpp"
#include "model/predict/megatron_job.hpp"
#include "model/predict/megatron_step.hpp"

namespace nb {

// Of the first and the last of many micro-batches, so that files stay small; `step` is of `job`.
inline constexpr std::int64_t kTracedMicroBatches = 64;
Json megatron_trace(const MegatronJob& job, const MegatronStep& step);

}  // namespace nb
