#include "model/decoder/incremental.hpp"

#include "model/decoder/chunk_pass.hpp"
#include "model/decoder/trunk.hpp"
#include "model/ops/transfer.hpp"

namespace nb {

std::unique_ptr<KeyValueCache> IncrementalDecoder::new_cache(std::int64_t first_position,
                                                             std::int64_t capacity) {
  const DecoderConfig& config = decoder_.config();
  const CacheShape shape = {
      .layers = config.n_layer, .width = config.kv_width(), .head_dim = config.head_dim()};
  return std::make_unique<KeyValueCache>(decoder_.device(), shape, first_position, capacity);
}

void IncrementalDecoder::forward(std::span<const Chunk> chunks,
                                 std::span<const std::int64_t> wanted, const LogitSink& sink,
                                 LastLayer last) {
  if (chunks.empty()) return;
  Device& device = decoder_.device();
  std::int64_t rows = 0;
  for (const Chunk& chunk : chunks) rows += std::ssize(chunk.tokens);
  const bool prunes = last == LastLayer::kWantedRows && std::ssize(wanted) < rows;
  ChunkPass pass(decoder_.config(), decoder_.weights(), device, chunks, wanted, prunes);
  const Tensor ids = ops::upload_ids(device, rows, 4, "tokens");
  const Tensor x =
      trunk(decoder_.weights(), decoder_.config(), decoder_.rotary_tables(), pass, false);
  for (const Chunk& chunk : chunks)
    if (chunk.own != nullptr) chunk.own->advance(chunk.tokens);
  if (x.empty()) return;
  ops::head_logits(device, x, decoder_.weights().lm_head->value, {}, sink, scratch_,
                   head_options(decoder_.config()));
}

}  // namespace nb
