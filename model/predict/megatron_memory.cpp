#include "model/predict/megatron_memory.hpp"

#include <algorithm>

namespace nb {
namespace {

constexpr double kFull = 4;  // bytes of fp32

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
  const double inner = static_cast<double>(m.hidden) * (m.is_gated ? 3 : 2);
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
  const double tp = static_cast<double>(r.tp);
  const double shared = r.distributed_optimizer ? static_cast<double>(r.dp() * r.cp) : 1.0;
  const double table = static_cast<double>(m.vocab * m.width) / tp;
  const double stage_layers = static_cast<double>(m.layers / r.pp);
  const double layer =
      static_cast<double>(m.layer_weights()) / tp + 2 * static_cast<double>(m.width);
  const double largest = static_cast<double>(std::max((m.is_gated ? 2 : 1) * m.hidden * m.width,
                                                      m.width * (m.q_width() + 2 * m.kv_width()))) /
                         tp;
  // Megatron-LM docs, distributed optimizer: fp16 gradients stay in fp16, 20 or 4 + 16 / dp bytes;
  // bf16 has fp32 gradients, 18 or 6 + 12 / dp. Shared are master and moments, and of fp16 an fp32
  // copy of the gradient, which zero_grad drops before the next forward pass
  // (core/optimizer/distrib_optimizer.py, zero_grad with set_to_none).
  const double per_weight = r.is_fp16 ? 4 : 6, copied = r.is_fp16 ? 4 : 0;
  const double master = 4, moments = 8;
  MegatronMemory memory;
  for (std::int64_t s = 0; s < r.pp; ++s) {
    const bool is_first = s == 0, is_last = s + 1 == r.pp;
    double weights = stage_layers * layer;
    if (is_first) weights += table;
    if (is_last) weights += static_cast<double>(m.width);
    if (is_last && (r.pp > 1 || !m.is_tied)) weights += table;  // a tied head's copy, too
    double kept = held_at_once(r, s) * stage_layers * kept_of_layer(job);
    // Logits in 16 bits, in fp32 (the loss works in place), and their gradient in 16 bits.
    if (is_last)
      kept += static_cast<double>(r.micro_batch * r.sequence_len / r.cp) *
              static_cast<double>(m.vocab) / tp * 8;
    const double standing = weights * (per_weight + (master + moments + copied) / shared);
    memory.static_bytes = std::max(memory.static_bytes, standing);
    const double beside = weights * (per_weight + (master + moments) / shared);
    memory.steady_peak_bytes = std::max({memory.steady_peak_bytes, standing, beside + kept});
    // The first step ends with Adam, which makes moments and works on one tensor after the other;
    // a distributed optimizer's tensors are pieces of one buffer.
    const double tensor = is_first || is_last ? std::max(table, largest) : largest;
    const double worked_on = shared > 1 ? 0 : kFull * tensor;
    const double first =
        std::max(standing + worked_on, weights * (per_weight + master / shared) + kept);
    memory.first_peak_bytes = std::max(memory.first_peak_bytes, first);
  }
  return memory;
}

}  // namespace nb
