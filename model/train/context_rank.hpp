// A context-parallel rank: some tokens of every sequence on a card of its own, all weights on each.
// Every op but attention goes by tokens.
//
// Ulysses (arXiv:2309.14509): before attention queries, keys and values are exchanged for those of
// all tokens and some heads, behind it the result for the rank's tokens again: four all-to-alls a
// block forward, four backward. A token's activations and loss have the bits of one card, where its
// products do not depend on how many rows they have.
//
// Ring (arXiv:2310.01889): keys and values travel around the ranks (ops/ring_attention.hpp), which
// have two chunks of a sequence each; sums over keys are rounded differently than on one card.
//
// Gradients of weights are sums over the parts of a sequence, as of data-parallel ranks over
// micro-batches: rounded differently than one sum.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/collectives/communicator.hpp"
#include "model/collectives/lent.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/sequence_cut.hpp"

namespace nb {

enum class ContextKind : std::uint8_t { kUlysses, kRing };
ContextKind context_kind(std::string_view name);  // NB_CHECK: "ulysses", "ring"

// Rank copy · parts + part of a mesh has that part of the sequences of a micro-batch.
struct ContextPlan {
  int rank = 0;
  int parts = 1;
  int copies = 1;
  ContextKind kind = ContextKind::kUlysses;

  int part() const { return rank % parts; }
  int copy() const { return rank / parts; }
  int ranks() const { return parts * copies; }
};

// Of a sequence of `time` tokens those of a part, ascending: a run of them, or two chunks of 2 ·
// parts (zigzag). NB_CHECK: they divide.
std::vector<std::int64_t> positions_of(const ContextPlan& plan, std::int64_t time);

// bad_input with the numbers: tokens, heads or key-value heads do not divide, or the model reads
// tokens of other parts by other means than attention.
Result<void> check_context(const DecoderConfig& config, std::int64_t parts,
                           ContextKind kind = ContextKind::kUlysses);

class ContextRank final : public WeightHooks, public SequenceCut {
 public:
  // Sequences of config().sequence_len; the decoder outlives it.
  ContextRank(Decoder& decoder, const ContextPlan& plan);
  ~ContextRank() override;

  const ContextPlan& plan() const { return plan_; }

  // A step, on the rank's thread: between the two the decoder trains on its part.
  void begin(Communicator& world);
  void end();

  std::span<const std::int64_t> positions() const override { return positions_; }
  const ops::RotaryTables& tables() const override { return tables_; }
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v,
                const ops::HeadShape& whole) override;

  void before_pass() override {}
  void after_pass() override {}
  void before_block(std::int64_t) override {}
  void after_block(std::int64_t) override {}
  void after_block_backward(std::int64_t) override {}

 private:
  Decoder& decoder_;
  ContextPlan plan_;
  std::vector<std::int64_t> positions_;
  ops::RotaryTables tables_;
  LentCommunicator group_;  // of the parts of a micro-batch; lent in steps
  std::unique_ptr<Communicator> own_group_;
};

}  // namespace nb
