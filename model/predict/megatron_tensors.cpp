#include "model/predict/megatron_tensors.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace nb {
namespace {

// The largest part of one tensor that lies in one of `shards` even pieces of them all.
std::int64_t largest_in_shard(std::span<const std::int64_t> tensors, std::int64_t shards) {
  const std::int64_t total = std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0});
  const std::int64_t shard = (total + shards - 1) / shards;
  std::int64_t largest = 0, begin = 0;
  for (const std::int64_t elements : tensors) {
    const std::int64_t end = begin + elements;
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t cut = std::min(end, (at / shard + 1) * shard);
      largest = std::max(largest, cut - at);
      at = cut;
    }
    begin = end;
  }
  return largest;
}

// Buckets of at least `least` elements; 0: one for all.
std::vector<std::vector<std::int64_t>> buckets_of(std::span<const std::int64_t> buffer,
                                                  std::int64_t least) {
  std::vector<std::vector<std::int64_t>> buckets(1);
  std::int64_t filled = 0;
  for (const std::int64_t elements : buffer) {
    if (least > 0 && filled >= least) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back(elements);
    filled += elements;
  }
  return buckets;
}

}  // namespace

std::vector<std::vector<std::int64_t>> stage_tensors(const MegatronJob& job, std::int64_t stage) {
  const MegatronModel& m = job.model;
  const MegatronRun& r = job.run;
  const std::int64_t table = m.vocab * m.width / r.tp;
  const bool is_first = stage == 0, is_last = stage + 1 == r.pp;
  const std::int64_t layers = m.layers / (r.pp * r.vpp);
  std::vector<std::vector<std::int64_t>> chunks(static_cast<std::size_t>(r.vpp));
  if (is_first) chunks.front().push_back(table);
  for (std::vector<std::int64_t>& chunk : chunks) {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::int64_t norm = m.width;
      const std::int64_t projection = m.q_width() * m.width / r.tp;
      const std::int64_t qkv = (m.q_width() + 2 * m.kv_width()) * m.width / r.tp;
      const std::int64_t down = m.hidden * m.width / r.tp;
      chunk.insert(chunk.end(), {norm, projection, qkv, norm, (m.is_gated ? 2 : 1) * down, down});
    }
  }
  if (is_last) {
    chunks.back().push_back(m.width);
    if (r.pp > 1 || !m.is_tied) chunks.back().push_back(table);
  }
  return chunks;
}

std::int64_t largest_updated_piece(const MegatronJob& job, std::int64_t stage) {
  const MegatronRun& r = job.run;
  const std::int64_t replicas = r.dp() * r.cp;
  const std::int64_t shards = r.distributed_optimizer ? replicas : 1;
  std::int64_t largest = 0;
  bool is_bucketed = stage == 0 && r.overlap_grad_reduce;
  for (const std::vector<std::int64_t>& chunk : stage_tensors(job, stage)) {
    const std::vector<std::int64_t> buffer(chunk.rbegin(), chunk.rend());
    const std::int64_t least =
        is_bucketed ? std::max<std::int64_t>(40'000'000, 1'000'000 * replicas) : 0;
    for (const std::vector<std::int64_t>& bucket : buckets_of(buffer, least))
      largest = std::max(largest, largest_in_shard(bucket, shards));
    is_bucketed = false;
  }
  return largest;
}

}  // namespace nb
