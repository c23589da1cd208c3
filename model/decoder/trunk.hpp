// All of a decoder but its head: embedding, blocks, last norm.
#pragma once

#include "model/decoder/block.hpp"

namespace nb {

// The tokens' embedding, with positions, norm and smear → (rows, C).
Tensor embedded(const DecoderWeights& w, const DecoderConfig& config, Pass& pass);

// → (wanted rows, C), normalised; empty where the pass wants none. recomputes: backward keeps the
// input of each block alone and computes the block again.
Tensor trunk(const DecoderWeights& w, const DecoderConfig& config, const ops::RotaryTables& tables,
             Pass& pass, bool recomputes);

}  // namespace nb
