#include "model/decoder/chunk_pass.hpp"

#include "harness/base/check.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/norms.hpp"
#include "model/ops/rows.hpp"

namespace nb {
namespace {

// The token before the chunk's first one; -1: the sequence begins with it.
int token_before(const Chunk& chunk) {
  if (chunk.first_position == 0) return -1;
  const KeyValueCache* last = nullptr;
  for (const auto& cache : chunk.prefix)
    if (cache->size() > 0) last = cache.get();
  if (chunk.own != nullptr && chunk.own->size() > 0) last = chunk.own;
  NB_CHECK(last != nullptr && last->last_token() >= 0,
           "[decoder] nobody knows the token before position {}", chunk.first_position);
  return last->last_token();
}

}  // namespace

ChunkPass::ChunkPass(const DecoderConfig& config, const DecoderWeights& weights, Device& device,
                     std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
                     bool prunes)
    : config_(config),
      weights_(weights),
      device_(device),
      chunks_(chunks),
      wanted_(wanted),
      prunes_(prunes),
      rows_(ops::chunk_rows(chunks, config.max_positions())) {
  for (const std::int64_t row : wanted) {
    NB_CHECK(row >= 0 && row < std::ssize(rows_.positions), "[decoder] row {} of {}", row,
             rows_.positions.size());
    wanted_positions_.push_back(rows_.positions[static_cast<std::size_t>(row)]);
  }
}

std::vector<int> ChunkPass::position_ids() const {
  return {rows_.positions.begin(), rows_.positions.end()};
}

Tensor ChunkPass::attend(std::int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) {
  ops::append_keys_values(k, v, layer, chunks_, "attn.cache");
  if (q.empty()) return {};
  ops::CachedBatch batch = {.chunks = chunks_, .layer = layer};
  if (prunes(layer)) batch.rows = wanted_;
  return ops::attention_cached(q, k, v, batch,
                               {.heads = config_.n_head,
                                .kv_heads = config_.n_kv_head,
                                .head_dim = config_.head_dim(),
                                .window = config_.window(layer)},
                               "attn");
}

// Embedded anew: the rows before the chunks' first ones are in no tensor.
Tensor ChunkPass::previous(const Tensor&) {
  std::vector<int> tokens;
  std::vector<std::int64_t> from;
  for (const Chunk& chunk : chunks_) {
    int before = token_before(chunk);
    for (const int token : chunk.tokens) {
      from.push_back(before < 0 ? -1 : std::ssize(tokens));
      tokens.push_back(before < 0 ? token : before);
      before = token;
    }
  }
  Tensor x = ops::embedding(*weights_.wte, tokens, std::ssize(tokens));
  if (config_.architecture.embedding_norm) x = ops::rms_norm(x, config_.n_embd, "smear.previous");
  return ops::gather_rows(device_, x, from, "smear.previous");
}

Tensor ChunkPass::wanted_rows(const Tensor& x) {
  if (wanted_.empty()) return {};
  return ops::gather_rows(device_, x, wanted_, "wanted");
}

Tensor ChunkPass::kept(std::int64_t layer, const Tensor& x) {
  return prunes(layer) ? wanted_rows(x) : x;
}

ops::Positions ChunkPass::kept_positions(std::int64_t layer) const {
  if (prunes(layer)) return {.each = wanted_positions_};
  return positions();
}

// The norm goes by rows: the wanted ones first, then the norm, gives the same bits for less.
Tensor ChunkPass::wanted(const Tensor& x) {
  const bool is_pruned = x.empty() || x.shape().leading() < rows();
  return is_pruned ? x : wanted_rows(x);
}

}  // namespace nb
