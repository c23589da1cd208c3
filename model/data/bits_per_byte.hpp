// Bits per byte (nanochat's loss_eval.py): nats of the targets that stand for bytes, over ln 2
// times those bytes. Targets < 0 and targets of 0 bytes (BOS, other specials) count in neither sum.
// Sums are double and in the order of add() and merge() calls, so equal calls give equal bits.
// Plain value, not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nb {

class BitsPerByte {
 public:
  // token_bytes: of every id (Tokenizer::token_bytes()); outlives this object.
  explicit BitsPerByte(const std::vector<int>& token_bytes) : token_bytes_(&token_bytes) {}

  // nll: nats per target, same length; NB_CHECK: a target < token_bytes.size().
  void add(std::span<const float> nll, std::span<const int> targets);
  // Another rank's sums; call in rank order.
  void merge(const BitsPerByte& other);

  double nats() const { return nats_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t targets() const { return targets_; }  // those counted
  // Empty when no target stood for a byte (nanochat: infinite).
  std::optional<double> value() const;
  // Mean nats per counted target; empty likewise.
  std::optional<double> nats_per_token() const;

 private:
  const std::vector<int>* token_bytes_;
  double nats_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t targets_ = 0;
};

}  // namespace nb
