#include "model/gpt/incremental.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/gpt/context.hpp"
#include "model/gpt/init.hpp"
#include "model/gpt/mlp.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/chunk_rows.hpp"
#include "model/ops/embedding.hpp"
#include "model/ops/gather.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/pointwise.hpp"
#include "model/ops/rms_norm.hpp"
#include "model/ops/rotary_norm.hpp"
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

// As attention_forward in attention.cpp, over cached keys.
Tensor attention(const PassContext& context, const BlockWeights& weights, const Tensor& n,
                 const PassRows& rows, std::int64_t layer) {
  Device& device = context.device;
  const GptConfig& config = context.config;
  const auto turned_and_normed = [&](const Tensor& in, const Parameter& w,
                                     std::span<const std::int64_t> positions,
                                     std::string_view rotary, std::string_view norm) {
    Tensor x = ops::linear(device, in, w.value, w.name, nullptr);
    Tensor turned =
        ops::rotary_before_norm(device, x, context.tables, {.each = positions}, rotary, nullptr);
    x.drop_block();
    return ops::rms_norm_after_rotary(device, x, turned, context.tables, {.each = positions}, norm,
                                      nullptr, nullptr);
  };
  const std::vector<std::int64_t> positions = asked_positions(rows);
  Tensor q;
  if (!positions.empty()) {
    Tensor room;
    q = turned_and_normed(asked(device, n, rows, room), weights.c_q, positions, "attn.q_rotary",
                          "attn.q_norm");
  }
  const Tensor k =
      turned_and_normed(n, weights.c_k, rows.positions, "attn.k_rotary", "attn.k_norm");
  const Tensor v = ops::linear(device, n, weights.c_v.value, weights.c_v.name, nullptr);
  ops::append_keys_values(device, k, v, layer, rows.chunks, "attn.cache");
  if (positions.empty()) return {};
  ops::LayerKeys keys(rows.chunks, layer, k, v);
  if (rows.some.has_value()) keys.keep_queries(*rows.some);
  const Tensor y = ops::attention_cached(
      device, q, keys.sequences(),
      {.heads = config.n_head, .kv_heads = config.n_kv_head, .head_dim = config.head_dim()},
      "attn");
  return ops::linear(device, y, weights.attn_proj.value, weights.attn_proj.name, nullptr);
}

// x of the rows asked for; none: empty.
Tensor block(const PassContext& context, const BlockWeights& weights, Tensor x,
             const PassRows& rows, std::int64_t layer) {
  Device& device = context.device;
  const std::int64_t width = context.config.n_embd;
  Tensor mid;
  {
    const Tensor n = ops::rms_norm(device, x, width, "attn.norm", nullptr, nullptr);
    const Tensor out = attention(context, weights, n, rows, layer);
    if (out.empty()) return {};
    Tensor room;
    mid = ops::add(device, asked(device, x, rows, room), out, "attn.add", nullptr);
    x = {};
  }
  Tensor n = ops::rms_norm(device, mid, width, "mlp.norm", nullptr, nullptr);
  MlpActivations activations;
  return mlp_forward(context, weights, std::move(n), mid, activations);
}

BlockWeights block_weights(Gpt& gpt, std::int64_t layer) {
  Parameter* p = &gpt.parameters()[1 + static_cast<std::size_t>(layer) * kBlockParameters];
  return {p[0], p[1], p[2], p[3], p[4], p[5]};
}

}  // namespace

std::unique_ptr<KeyValueCache> IncrementalGpt::new_cache(std::int64_t first_position,
                                                         std::int64_t capacity) const {
  const GptConfig& config = gpt_.config();
  const CacheShape shape = {.layers = config.n_layer,
                            .width = config.n_kv_head * config.head_dim(),
                            .head_dim = config.head_dim()};
  return std::make_unique<KeyValueCache>(gpt_.device(), shape, first_position, capacity);
}

void IncrementalGpt::forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
                             const Gpt::LogitSink& sink, LastLayer last) {
  if (chunks.empty()) return;
  Device& device = gpt_.device();
  const GptConfig& config = gpt_.config();
  const ops::ChunkRows rows = ops::chunk_rows(chunks, config.rotary_positions());
  const PassContext context = {device, config, gpt_.rotary_tables(), 1, rows.count(), false};
  const Tensor ids = ops::upload_ids(device, rows.count(), 4, "tokens");
  const Parameter& wte = gpt_.parameters().front();
  Tensor x;
  {
    const Tensor embedded =
        ops::embedding(device, wte.value, rows.tokens, rows.count(), wte.name, nullptr);
    x = ops::rms_norm(device, embedded, config.n_embd, "norm", nullptr, nullptr);
  }
  const bool prunes = last == LastLayer::kWantedRows && std::ssize(wanted) < rows.count();
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) {
    PassRows pass = {chunks, rows.positions};
    if (prunes && layer + 1 == config.n_layer) pass.some = wanted;
    x = block(context, block_weights(gpt_, layer), std::move(x), pass, layer);
  }
  for (const Chunk& chunk : chunks) {
    if (chunk.own != nullptr) chunk.own->advance(static_cast<std::int64_t>(chunk.tokens.size()));
  }
  if (wanted.empty()) return;
  // The norm goes by rows: the wanted ones first, then the norm, gives the same bits for less.
  if (!prunes) x = ops::gather_rows(device, x, wanted, "wanted");
  x = ops::rms_norm(device, x, config.n_embd, "norm", nullptr, nullptr);
  ops::head_logits(device, x, gpt_.parameters().back().value, {}, sink, scratch_);
}

}  // namespace nb
