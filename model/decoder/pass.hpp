// One forward pass over rows of tokens: where each row stands, and which keys it sees. The blocks
// know nothing else of whole sequences or caches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/device/tensor.hpp"
#include "model/ops/rotary.hpp"

namespace nb {

// Hears what ops give, each under the path of the module that gives it in nanochat's gpt.py:
// "transformer.h.0.attn.c_q"; what a function gives there has a name of its own: "attn.q_rotary".
// Reading its values makes the host compute up to there, which changes no bit.
using OpListener = std::function<void(const std::string& op, const Tensor& output)>;

class Pass {
 public:
  virtual ~Pass() = default;

  const OpListener* listener = nullptr;
  void tell(std::string_view op, const Tensor& output) const {
    if (listener != nullptr && !output.empty()) (*listener)(std::string(op), output);
  }
  void tell(std::int64_t layer, std::string_view op, const Tensor& output) const {
    if (listener != nullptr)
      tell("transformer.h." + std::to_string(layer) + (op.empty() ? "" : ".") + std::string(op),
           output);
  }

  virtual std::int64_t rows() const = 0;
  virtual std::span<const int> ids() const = 0;       // of every row; may be empty on a dry device
  virtual ops::Positions positions() const = 0;       // of every row, for the rotary embedding
  virtual std::vector<int> position_ids() const = 0;  // the same, for a table of positions

  // Attention of layer `layer`, (rows of q, H·D). k and v (rows, G·D) are those of every row.
  virtual Tensor attend(std::int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) = 0;
  // x (rows, C), the embedding of every row's token → that of the token before it in its sequence,
  // zeros where there is none.
  virtual Tensor previous(const Tensor& x) = 0;

  // A pass that scores leaves out of its last layer what neither a wanted row nor a cache needs.
  // x, or those of its rows that `layer` must give; empty: none.
  virtual Tensor kept(std::int64_t, const Tensor& x) { return x; }
  virtual ops::Positions kept_positions(std::int64_t) const { return positions(); }
  // The rows whose logits are wanted, of what the last layer gave; empty: none.
  virtual Tensor wanted(const Tensor& x) { return x; }
};

}  // namespace nb
