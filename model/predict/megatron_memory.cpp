#include "model/predict/megatron_memory.hpp"

#include <algorithm>

#include "model/predict/megatron_tensors.hpp"

namespace nb {
namespace {

constexpr double kFull = 4;  // bytes of fp32
// Cross-entropy begins with a logit in 16 bits, as fp32, and as fp32 without its row's maximum
// (MindSpeed core/tensor_parallel/cross_entropy.py at 2.0.0_core_r0.8.0 subtracts into a new
// tensor).
constexpr double kPerLogit = 2 + 4 + 4;

// Bytes that one layer keeps, on average of one micro-batch: inputs and outputs of both norms
// (shared by the residual stream), q, k, v, attention's output and its softmax maximum and sum
// ([B,N,S,8] fp32 each, op-plugin @ 517f2e7d), the MLP's inner activations. 16-bit but for the
// statistics.
double kept_of_layer(const MegatronJob& job) {
  const MegatronModel& m = job.model;
  const MegatronRun& r = job.run;
  const auto rows = static_cast<double>(r.micro_batch * r.sequence_len / r.cp);
  const double tp = static_cast<double>(r.tp), parts = r.sequence_parallel ? tp : 1.0;
  const auto width = static_cast<double>(m.width);
  const double input = rows * 2 * width / parts, again = r.recomputed_share(m.layers);
  const auto q = static_cast<double>(m.q_width()), kv = static_cast<double>(m.kv_width());
  // Gate and up, their product, and the activated gate where a kernel of its own makes it.
  const int inner_parts = m.is_gated ? (r.fused_swiglu ? 3 : 4) : 2;
  const double inner = static_cast<double>(m.hidden) * inner_parts;
  const double all = rows * 2 * (4 * width / parts + (2 * q + 2 * kv + inner) / tp) +
                     rows * static_cast<double>(m.heads) / tp * 64;
  return again * input + (1 - again) * all;
}

// Micro-batches whose activations stage `s` holds at once, in whole stages (1F1B; interleaved as in
// Megatron-LM core/pipeline_parallel/schedules.py: 2 (pp − s − 1) + (vpp − 1) pp + 1 chunks).
double held_at_once(const MegatronRun& r, std::int64_t s) {
  const std::int64_t m = r.micro_batches();
  if (r.vpp == 1) return static_cast<double>(std::min(m, r.pp - s));
  const std::int64_t chunks = 2 * (r.pp - s - 1) + (r.vpp - 1) * r.pp + 1;
  return static_cast<double>(std::min(chunks, m * r.vpp)) / static_cast<double>(r.vpp);
}

}  // namespace

MegatronMemory megatron_memory(const MegatronJob& job) {
  const MegatronModel& m = job.model;
  const MegatronRun& r = job.run;
  const double shared = r.distributed_optimizer ? static_cast<double>(r.dp() * r.cp) : 1.0;
  const double stage_layers = static_cast<double>(m.layers / r.pp);
  // Megatron-LM docs, distributed optimizer: fp16 gradients stay in fp16, 20 or 4 + 16 / dp bytes;
  // bf16 has fp32 gradients, 18 or 6 + 12 / dp. Shared are master and moments, and of fp16 an fp32
  // copy of the gradient, which zero_grad drops before the next forward pass
  // (core/optimizer/distrib_optimizer.py, zero_grad with set_to_none).
  const double per_weight = r.is_fp16 ? 4 : 6, copied = r.is_fp16 ? 4 : 0;
  const double master = r.reuse_fp32_param ? 2 : 4, moments = 8;
  MegatronMemory memory;
  for (std::int64_t s = 0; s < r.pp; ++s) {
    double weights = 0;
    for (const std::vector<std::int64_t>& chunk : stage_tensors(job, s))
      for (const std::int64_t elements : chunk) weights += static_cast<double>(elements);
    double kept = held_at_once(r, s) * stage_layers * kept_of_layer(job);
    if (s + 1 == r.pp)
      kept += static_cast<double>(r.micro_batch * r.sequence_len / r.cp) *
              static_cast<double>(m.vocab) / static_cast<double>(r.tp) * kPerLogit;
    const double standing = weights * (per_weight + (master + moments + copied) / shared);
    memory.static_bytes = std::max(memory.static_bytes, standing);
    // A gradient in 16 bits has its fp32 copy already.
    const double copy = r.adam_copies_gradient && !r.is_fp16
                            ? kFull * static_cast<double>(largest_updated_piece(job, s))
                            : 0;
    const double updating = standing + copy;
    const double steady = weights * (per_weight + (master + moments) / shared) + kept;
    memory.steady_peak_bytes = std::max({memory.steady_peak_bytes, updating, steady});
    // The first step has no moments before its update.
    const double first = weights * (per_weight + master / shared) + kept;
    memory.first_peak_bytes = std::max({memory.first_peak_bytes, updating, first});
  }
  return memory;
}

}  // namespace nb
