// All of a decoder but its head: embedding, blocks, last norm; as a whole, or by its parts.
#pragma once

#include "model/decoder/block.hpp"

namespace nb {

// What a block, the last norm or a later block reads of what was before it, (rows, C) each.
struct Residuals {
  Tensor x;
  Tensor x0;      // what block 0 began with, where later blocks add it; else empty
  Tensor middle;  // of behind block ⌊layers / 2⌋, where backout takes it; else, and before, empty
};

// The tokens' embedding, with positions, norm and smear.
Residuals embedded(const DecoderWeights& w, const DecoderConfig& config, Pass& pass);

// Blocks from `first` to before `end`. recomputes: backward keeps the input of each block alone and
// computes the block again.
void run_blocks(const DecoderWeights& w, const DecoderConfig& config,
                const ops::RotaryTables& tables, Pass& pass, bool recomputes, std::int64_t first,
                std::int64_t end, Residuals& stream);

// What the head reads → (wanted rows, C), normalised; empty where the pass wants none.
Tensor ended(const DecoderWeights& w, const DecoderConfig& config, Pass& pass, Residuals& stream);

// All three.
Tensor trunk(const DecoderWeights& w, const DecoderConfig& config, const ops::RotaryTables& tables,
             Pass& pass, bool recomputes);

}  // namespace nb
