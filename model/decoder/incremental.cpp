#include "model/decoder/incremental.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/decoder/block.hpp"
#include "model/decoder/init.hpp"
#include "model/ops/add.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/chunk_rows.hpp"
#include "model/ops/embedding.hpp"
#include "model/ops/gather.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/rms_norm.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

// The rows of a pass, and those whose outcome a block computes: all, or some (ascending).
struct PassRows {
  std::span<const Chunk> chunks;
  std::span<const std::int64_t> positions;  // of every row
  std::optional<std::span<const std::int64_t>> some = {};
};

// x, or its rows that are asked for, which `room` then holds.
const Tensor& asked(Device& device, const Tensor& x, const PassRows& rows, Tensor& room) {
  if (!rows.some.has_value()) return x;
  room = ops::gather_rows(device, x, *rows.some, "wanted");
  return room;
}

std::vector<std::int64_t> asked_positions(const PassRows& rows) {
  if (!rows.some.has_value()) return {rows.positions.begin(), rows.positions.end()};
  std::vector<std::int64_t> positions;
  for (const std::int64_t row : *rows.some) {
    positions.push_back(rows.positions[static_cast<std::size_t>(row)]);
  }
  return positions;
}

// As in block.cpp, over cached keys.
Tensor attention(const Decoder& decoder, const BlockWeights& w, const Tensor& n,
                 const PassRows& rows, std::int64_t layer) {
  const DecoderConfig& config = decoder.config();
  const auto rotated_and_normed = [&](const Tensor& in, Parameter& weight,
                                      std::span<const std::int64_t> positions, const char* rotary,
                                      const char* norm) {
    Tensor x = ops::linear(in, weight);
    x = ops::rotary(x, decoder.rotary_tables(), {.each = positions}, rotary);
    return ops::rms_norm(x, config.head_dim(), norm);
  };
  const std::vector<std::int64_t> positions = asked_positions(rows);
  Tensor q;
  if (!positions.empty()) {
    Tensor room;
    q = rotated_and_normed(asked(decoder.device(), n, rows, room), w.c_q, positions,
                           "attn.q_rotary", "attn.q_norm");
  }
  const Tensor k = rotated_and_normed(n, w.c_k, rows.positions, "attn.k_rotary", "attn.k_norm");
  const Tensor v = ops::linear(n, w.c_v);
  ops::append_keys_values(decoder.device(), k, v, layer, rows.chunks, "attn.cache");
  if (positions.empty()) return {};
  ops::LayerKeys keys(rows.chunks, layer, k, v);
  if (rows.some.has_value()) keys.keep_queries(*rows.some);
  const Tensor y = ops::attention_cached(
      decoder.device(), q, keys.sequences(),
      {.heads = config.n_head, .kv_heads = config.n_kv_head, .head_dim = config.head_dim()},
      "attn");
  return ops::linear(y, w.attn_proj);
}

// x of the rows asked for; none: empty.
Tensor cached_block(const Decoder& decoder, const BlockWeights& w, Tensor x, const PassRows& rows,
                    std::int64_t layer) {
  const std::int64_t width = decoder.config().n_embd;
  Tensor mid;
  {
    const Tensor n = ops::rms_norm(x, width, "attn.norm");
    const Tensor out = attention(decoder, w, n, rows, layer);
    if (out.empty()) return {};
    Tensor room;
    mid = ops::add(asked(decoder.device(), x, rows, room), out, "attn.add");
    x = {};
  }
  const Tensor y = mlp(ops::rms_norm(mid, width, "mlp.norm"), w);
  return ops::add(mid, y, "mlp.add");
}

BlockWeights block_weights(Decoder& decoder, std::int64_t layer) {
  Parameter* p = &decoder.parameters()[1 + static_cast<std::size_t>(layer) * kBlockParameters];
  return {p[0], p[1], p[2], p[3], p[4], p[5]};
}

}  // namespace

std::unique_ptr<KeyValueCache> IncrementalDecoder::new_cache(std::int64_t first_position,
                                                             std::int64_t capacity) {
  const DecoderConfig& config = decoder_.config();
  const CacheShape shape = {.layers = config.n_layer,
                            .width = config.n_kv_head * config.head_dim(),
                            .head_dim = config.head_dim()};
  return std::make_unique<KeyValueCache>(decoder_.device(), shape, first_position, capacity);
}

void IncrementalDecoder::forward(std::span<const Chunk> chunks,
                                 std::span<const std::int64_t> wanted, const LogitSink& sink,
                                 LastLayer last) {
  if (chunks.empty()) return;
  Device& device = decoder_.device();
  const DecoderConfig& config = decoder_.config();
  const ops::ChunkRows rows = ops::chunk_rows(chunks, config.rotary_positions());
  const Tensor ids = ops::upload_ids(device, rows.count(), 4, "tokens");
  Tensor x = ops::embedding(decoder_.parameters().front(), rows.tokens, rows.count());
  x = ops::rms_norm(x, config.n_embd, "norm");
  const bool prunes = last == LastLayer::kWantedRows && std::ssize(wanted) < rows.count();
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) {
    PassRows pass = {chunks, rows.positions};
    if (prunes && layer + 1 == config.n_layer) pass.some = wanted;
    x = cached_block(decoder_, block_weights(decoder_, layer), std::move(x), pass, layer);
  }
  for (const Chunk& chunk : chunks) {
    if (chunk.own != nullptr) chunk.own->advance(static_cast<std::int64_t>(chunk.tokens.size()));
  }
  if (wanted.empty()) return;
  // The norm goes by rows: the wanted ones first, then the norm, gives the same bits for less.
  if (!prunes) x = ops::gather_rows(device, x, wanted, "wanted");
  x = ops::rms_norm(x, config.n_embd, "norm");
  ops::head_logits(device, x, decoder_.parameters().back().value, {}, sink, scratch_);
}

}  // namespace nb
