// Step time of a Megatron job, closed form: the kernels of one layer, of the embedding and of the
// head are listed and priced one by one, collectives by the formulas of model/collectives, and
// the pipeline is T = (m − 1) max t + Σ t of its stages' times for one micro-batch. Two equal
// micro-batches are priced once. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "harness/base/result.hpp"
#include "model/device/lowering.hpp"
#include "model/device/node_links.hpp"
#include "model/device/profile.hpp"
#include "model/predict/megatron_job.hpp"

namespace nb {

// What a machine offers to the estimate. kernel_ns is all that is known of a kernel's cost.
struct MegatronMachine {
  std::function<double(const Kernel&)> kernel_ns;
  LinkProfile links;
  std::optional<NodeLinkProfile> between_nodes;
  double host_dispatch_ns = 0;  // of one launch
  double hidden_share = 0;      // of communication that may run beside compute
  // Without mc2: the backward's second gathers and reduce-scatters are asynchronous (Megatron-LM,
  // core/tensor_parallel/layers.py) and share the hiding. On Ascend only mc2 hides.
  bool hides_backward = false;
  // HCCL: "A × size across chips + B × size of the local copy + C" (hicann/hccl, cost model);
  // NCCL's bus bandwidth has its own copies.
  bool copies_through_buffers = false;
};
// kernel_ns of the cost model of that profile, which outlives the machine.
MegatronMachine megatron_machine(const DeviceProfile& profile,
                                 const std::optional<NodeLinkProfile>& between_nodes);

// What one micro-batch takes on a stage, forward and backward together.
struct MegatronStage {
  double product_ns = 0, attention_ns = 0, vector_ns = 0;  // device time
  double communication_ns = 0;                             // exposed collectives and copies
  double host_ns = 0;                                      // by which the host is slower
  double total_ns() const {
    return product_ns + attention_ns + vector_ns + communication_ns + host_ns;
  }
};

// Shares of the slowest stage's time for all micro-batches, and what is added once per step.
struct MegatronStep {
  double step_ns = 0;
  double product_ns = 0, attention_ns = 0, vector_ns = 0;  // of the slowest stage, device time
  double communication_ns = 0;                             // its exposed collectives and copies
  double host_ns = 0;                                      // by which its host is slower
  double bubble_ns = 0;                                    // of the pipeline
  double data_parallel_ns = 0;                             // exposed gradient exchange
  double optimizer_ns = 0;
  double rate_tok_s_card = 0;
  std::vector<MegatronStage> stages;  // of the pipeline, first to last
};

// bad_input: what check_job says; a machine without a network where one is needed, or tp over
// several nodes.
Result<MegatronStep> megatron_step(const MegatronJob& job, const MegatronMachine& machine);

}  // namespace nb
