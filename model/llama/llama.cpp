#include "model/llama/llama.hpp"

#include <algorithm>
#include <utility>

#include "model/ops/add.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/chunk_rows.hpp"
#include "model/ops/embedding.hpp"
#include "model/ops/gain.hpp"
#include "model/ops/gather.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/multiply.hpp"
#include "model/ops/rms_norm.hpp"
#include "model/ops/silu.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

constexpr float kEpsilon = 1e-5F;         // llama2.c, run.c: rmsnorm()
constexpr std::int64_t kLogitRows = 256;  // logits of so many rows exist at once

Tensor upload(Device& device, std::span<const float> values, const Shape& shape,
              std::string_view name) {
  Tensor tensor = device.allocate(shape, DType::kFp32, name);
  if (!tensor.host().empty()) std::copy(values.begin(), values.end(), tensor.host().begin());
  return tensor;
}

Parameter weight(Device& device, std::span<const float> values, const Shape& shape,
                 const char* name) {
  return {.name = name, .value = upload(device, values, shape, name)};
}

Tensor norm(const Tensor& x, Parameter& gain) {
  return ops::apply_gain(ops::rms_norm(x, x.shape().last(), gain.name, kEpsilon), gain, gain.name);
}

// Rows of each head of (heads·D, C): odd ones, then even ones.
std::vector<float> halves_from_pairs(std::span<const float> values, std::int64_t head_dim,
                                     std::int64_t cols) {
  std::vector<float> out(values.size());
  const auto rows = static_cast<std::int64_t>(values.size()) / cols;
  const std::int64_t half = head_dim / 2;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t in_head = row % head_dim;
    const std::int64_t from =
        row - in_head + (in_head < half ? 2 * in_head + 1 : 2 * (in_head - half));
    std::copy_n(values.data() + from * cols, cols, out.data() + row * cols);
  }
  return out;
}

}  // namespace

Llama::Llama(const LlamaFile& file, Device& device)
    : config_(file.config),
      device_(device),
      tables_(ops::rotary_tables(device, config_.sequence_len, config_.head_dim())) {
  const LlamaWeights weights = file.weights();
  const std::int64_t c = config_.n_embd, g = config_.kv_width(), f = config_.hidden;
  embedding_ = weight(device, weights.embedding, {config_.vocab_size, c}, "tok_embeddings");
  for (const LlamaWeights::Layer& w : weights.layers) {
    Parameter norm = weight(device, w.norm_attention, {c}, "attention_norm");
    const std::int64_t d = config_.head_dim();
    Parameter wq = weight(device, halves_from_pairs(w.wq, d, c), {c, c}, "wq");
    Parameter wk = weight(device, halves_from_pairs(w.wk, d, c), {g, c}, "wk");
    Parameter wv = weight(device, w.wv, {g, c}, "wv"), wo = weight(device, w.wo, {c, c}, "wo");
    layers_.push_back({.norm_attention = std::move(norm),
                       .norm_mlp = weight(device, w.norm_mlp, {c}, "ffn_norm"),
                       .wq = std::move(wq),
                       .wk = std::move(wk),
                       .wv = std::move(wv),
                       .wo = std::move(wo),
                       .w1 = weight(device, w.w1, {f, c}, "w1"),
                       .w2 = weight(device, w.w2, {c, f}, "w2"),
                       .w3 = weight(device, w.w3, {f, c}, "w3")});
  }
  norm_final_ = weight(device, weights.norm_final, {c}, "norm");
  if (!config_.ties_embeddings)
    output_ = weight(device, weights.output, {config_.vocab_size, c}, "output");
}

std::unique_ptr<KeyValueCache> Llama::new_cache(std::int64_t first_position,
                                                std::int64_t capacity) const {
  const CacheShape shape = {
      .layers = config_.n_layer, .width = config_.kv_width(), .head_dim = config_.head_dim()};
  return std::make_unique<KeyValueCache>(device_, shape, first_position, capacity);
}

Tensor Llama::attention(Layer& layer, const Tensor& n, std::span<const Chunk> chunks,
                        std::span<const std::int64_t> positions, std::int64_t index) {
  const auto rotated = [&](Parameter& w) {
    const Tensor x = ops::linear(n, w);
    return ops::rotary(x, tables_, {.each = positions}, "rotary");
  };
  const Tensor q = rotated(layer.wq);
  const Tensor k = rotated(layer.wk);
  const Tensor v = ops::linear(n, layer.wv);
  ops::append_keys_values(device_, k, v, index, chunks, "cache");
  const ops::LayerKeys keys(chunks, index, k, v);
  const Tensor y = ops::attention_cached(
      device_, q, keys.sequences(),
      {.heads = config_.n_head, .kv_heads = config_.n_kv_head, .head_dim = config_.head_dim()},
      "attention");
  return ops::linear(y, layer.wo);
}

Tensor Llama::mlp(Layer& layer, const Tensor& n) {
  const Tensor gate = ops::linear(n, layer.w1);
  const Tensor up = ops::linear(n, layer.w3);
  const Tensor gated = ops::multiply(ops::silu(gate, "silu"), up, "silu_times_up");
  return ops::linear(gated, layer.w2);
}

void Llama::logits(const Tensor& x, std::span<const std::int64_t> wanted, const LogitSink& sink) {
  Parameter& w = config_.ties_embeddings ? embedding_ : output_;
  const auto total = static_cast<std::int64_t>(wanted.size());
  for (std::int64_t first = 0; first < total; first += kLogitRows) {
    const auto rows = wanted.subspan(static_cast<std::size_t>(first),
                                     static_cast<std::size_t>(std::min(kLogitRows, total - first)));
    const Tensor some = ops::gather_rows(device_, x, rows, "wanted");
    const Tensor normed = norm(some, norm_final_);
    const Tensor y = ops::linear(normed, w);
    if (device_.executes()) sink(first, y.matrix());
  }
}

void Llama::forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
                    const LogitSink& sink) {
  if (chunks.empty()) return;
  const ops::ChunkRows rows = ops::chunk_rows(chunks, config_.sequence_len);
  const Tensor ids = ops::upload_ids(device_, rows.count(), 4, "tokens");
  Tensor x = ops::embedding(embedding_, rows.tokens, rows.count());
  for (std::int64_t i = 0; i < config_.n_layer; ++i) {
    Layer& layer = layers_[static_cast<std::size_t>(i)];
    Tensor n = norm(x, layer.norm_attention);
    const Tensor attended = attention(layer, n, chunks, rows.positions, i);
    x = ops::add(x, attended, "attention_add");
    n = norm(x, layer.norm_mlp);
    x = ops::add(x, mlp(layer, n), "ffn_add");
  }
  for (const Chunk& chunk : chunks) {
    if (chunk.own != nullptr) chunk.own->advance(static_cast<std::int64_t>(chunk.tokens.size()));
  }
  logits(x, wanted, sink);
}

}  // namespace nb
