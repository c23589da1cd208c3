#include "model/train/mesh_volumes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/base/table.hpp"
#include "model/collectives/cost.hpp"
#include "model/decoder/parameters.hpp"
#include "model/train/tensor_cuts.hpp"

namespace nb {
namespace {

double activation_bytes(const DecoderConfig& config, const ActivationSize& size) {
  return static_cast<double>(size.rows * size.tokens * config.n_embd * size.element_bytes);
}

double total(const SentBytes& sent) {
  double sum = 0;
  for (const auto& [kind, bytes] : sent) sum += bytes;
  return sum;
}

// Two digits: 5,597 is 5,600.
std::int64_t rounded(double factor) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(factor)) - 1));
  return static_cast<std::int64_t>(std::round(factor / unit) * unit);
}

}  // namespace

double tensor_parallel_bytes(const DecoderConfig& config, const ActivationSize& size,
                             std::int64_t ranks) {
  const double all_reduce = 2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks) *
                            activation_bytes(config, size);
  return 4 * all_reduce * static_cast<double>(config.n_layer * size.micro_batches);
}

SentBytes tensor_parallel_step(const DecoderConfig& config, const ActivationSize& size,
                               std::int64_t ranks, std::int64_t muon_bytes,
                               bool sequence_parallel) {
  const auto sent = [&](OpKind kind, double bytes) {
    return bytes * sent_bytes_of(kind, 1, static_cast<int>(ranks));
  };
  const auto micro_batches = static_cast<double>(size.micro_batches);
  const double numbers = 3 * 4 * static_cast<double>(size.rows * size.tokens);
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> matrices;  // of a shape
  for (const ParameterSpec& spec : parameter_specs(config))
    if (spec.role == ParameterRole::kMatrix) ++matrices[{spec.shape[0], spec.shape[1]}];
  double exchanged = 0, by_rows = 0;
  for (const ParameterSpec& spec : parameter_specs(config))
    if (is_read_by_rows(spec.name)) by_rows += static_cast<double>(4 * spec.shape.count());
  for (const auto& [shape, count] : matrices)
    exchanged += static_cast<double>(2 * ((count + ranks - 1) / ranks) * shape.first *
                                     shape.second * muon_bytes);
  const double norms = sent(OpKind::kAllGather, 3 * 4 * static_cast<double>(ranks));
  if (sequence_parallel) {
    const Architecture& a = config.architecture;
    const bool is_whole = a.positions == PositionKind::kLearned || a.smear;
    const double activation = micro_batches * activation_bytes(config, size),
                 both_ways = static_cast<double>(4 * config.n_layer + 1);  // blocks and head
    return {{"all_reduce", sent(OpKind::kAllReduce,
                                micro_batches * numbers + by_rows + (is_whole ? activation : 0))},
            {"all_gather", sent(OpKind::kAllGather, (both_ways + 1) * activation) + norms},
            {"reduce_scatter",
             sent(OpKind::kReduceScatter, (both_ways + (is_whole ? 0 : 1)) * activation)},
            {"all_to_all", sent(OpKind::kAllToAll, exchanged)}};
  }
  return {{"all_reduce", tensor_parallel_bytes(config, size, ranks) +
                             sent(OpKind::kAllReduce,
                                  micro_batches * (2 * activation_bytes(config, size) + numbers))},
          {"all_gather", norms},
          {"all_to_all", sent(OpKind::kAllToAll, exchanged)}};
}

double ulysses_bytes(const DecoderConfig& config, const ActivationSize& size, std::int64_t ranks) {
  const auto columns = static_cast<double>(2 * config.q_width() + 2 * config.kv_width());
  const double tokens = static_cast<double>(size.rows * size.tokens * size.micro_batches);
  return 2 * static_cast<double>(config.n_layer * size.element_bytes) * tokens * columns *
         static_cast<double>(ranks - 1) / static_cast<double>(ranks * ranks);
}

double ring_bytes(const DecoderConfig& config, const ActivationSize& size, std::int64_t ranks) {
  constexpr std::int64_t kSumBytes = 4;
  const std::int64_t numbers = size.rows * (size.tokens / ranks) * config.kv_width();
  return static_cast<double>(2 * config.n_layer * size.micro_batches * numbers *
                             (2 * (ranks - 1) * size.element_bytes + ranks * kSumBytes));
}

double pipeline_bytes(const DecoderConfig& config, const ActivationSize& size,
                      std::int64_t stages) {
  if (stages < 2) return 0;
  const double directions = stages == 2 ? 1 : 2;
  return directions * static_cast<double>(size.micro_batches) * activation_bytes(config, size);
}

double pipeline_bubble(std::int64_t stages, std::int64_t micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches);
}

std::string frozen_weights_finding(const MeshStepRequest& request, const MeshStep& step,
                                   const DeviceProfile& profile) {
  if (!request.lora || !request.mesh.is_sharded()) return "";
  MeshStepRequest copies = request;
  copies.mesh = {.dp = request.mesh.ranks(), .reduce = request.mesh.reduce};
  try {
    const MeshStep other = run_mesh_step(copies, profile);
    const double factor = total(step.sent) / total(other.sent);
    if (factor < 2) return "";
    return fmt::format(
        "frozen weights are gathered for every micro-batch, {} a step and rank, for {} of "
        "gradients: dp {} sends {} × less here, and its {} fit",
        human_bytes(total(step.sent)), human_bytes(total(other.sent)), copies.mesh.dp,
        with_commas(rounded(factor)), human_bytes(static_cast<double>(other.peak.allocated_bytes)));
  } catch (const OutOfMemory&) {
    return "";
  }
}

}  // namespace nb
