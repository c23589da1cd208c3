// One block of a decoder: x + attention(norm(x)), then x + mlp(norm(x)).
#pragma once

#include "model/decoder/cuts.hpp"
#include "model/decoder/pass.hpp"
#include "model/decoder/weights.hpp"

namespace nb {

// What a block needs besides its weights.
struct BlockContext {
  const DecoderConfig& config;
  const ops::RotaryTables& tables;
  Pass& pass;
  std::int64_t layer;
  Cuts* cuts = nullptr;  // of the weights; null: they are whole
};

// x (rows, C) → (kept rows, C); empty where the pass wants none.
Tensor block(const Tensor& x, const BlockWeights& w, const BlockContext& at);

// x (rows, C) → the same, by the architecture's norm.
Tensor norm(const Tensor& x, const NormWeights& w, const DecoderConfig& config,
            std::string_view label);

}  // namespace nb
