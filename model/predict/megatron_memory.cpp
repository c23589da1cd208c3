#include "model/predict/megatron_memory.hpp"

#include <algorithm>

namespace nb {
namespace {

// Bytes that one layer keeps of one micro-batch: inputs and outputs of both norms (shared by the
// residual stream), q, k, v, attention's output and its softmax maximum and sum ([B,N,S,8] fp32
// each, op-plugin @ 517f2e7d), the MLP's inner activations. 16-bit but for the statistics.
double kept_of_layer(const MegatronJob& job) {
  const MegatronModel& m = job.model;
  const MegatronRun& r = job.run;
  const auto rows = static_cast<double>(r.micro_batch * r.sequence_len / r.cp);
  const double tp = static_cast<double>(r.tp), parts = r.sequence_parallel ? tp : 1.0;
  const auto width = static_cast<double>(m.width);
  if (r.recompute == MegatronRecompute::kFull) return rows * 2 * width / parts;
  const auto q = static_cast<double>(m.q_width()), kv = static_cast<double>(m.kv_width());
  const double inner = static_cast<double>(m.hidden) * (m.is_gated ? 3 : 2);
  return rows * 2 * (4 * width / parts + (2 * q + 2 * kv + inner) / tp) +
         rows * static_cast<double>(m.heads) / tp * 64;
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
  MegatronMemory memory;
  for (std::int64_t s = 0; s < r.pp; ++s) {
    const bool is_first = s == 0, is_last = s + 1 == r.pp;
    double weights = stage_layers * layer;
    if (is_first) weights += table;
    if (is_last) weights += static_cast<double>(m.width);
    if (is_last && (r.pp > 1 || !m.is_tied)) weights += table;  // a tied head's copy, too
    double kept = held_at_once(r, s) * stage_layers * kept_of_layer(job);
    // Logits in 16 bits and in fp32, and their gradients.
    if (is_last)
      kept += static_cast<double>(r.micro_batch * r.sequence_len / r.cp) *
              static_cast<double>(m.vocab) / tp * 12;
    const double standing = weights * (6 + 12 / shared);
    memory.static_bytes = std::max(memory.static_bytes, standing);
    memory.steady_peak_bytes = std::max(memory.steady_peak_bytes, standing + kept);
    const double first = std::max(standing, weights * (6 + 4 / shared) + kept);
    memory.first_peak_bytes = std::max(memory.first_peak_bytes, first);
  }
  return memory;
}

}  // namespace nb
