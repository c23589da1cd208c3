#include "tests/model/train/mesh_volumes.hpp"

#include <map>
#include <utility>

#include "model/collectives/cost.hpp"
#include "model/decoder/parameters.hpp"
#include "model/train/tensor_cuts.hpp"

namespace nb {
namespace {

double activation_bytes(const DecoderConfig& config, const ActivationSize& size) {
  return static_cast<double>(size.rows * size.tokens * config.n_embd * size.element_bytes);
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

}  // namespace nb
