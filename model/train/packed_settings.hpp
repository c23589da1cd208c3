// What newer nanochat's SFT is asked to do beside the older one's: rows of whole conversations,
// batches by tokens, one pass, the rate by the share of the conversations. Its chat_sft.py at
// 00255c1 gives the defaults. Values.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/base/fields.hpp"
#include "model/data/chat/conversation_packs.hpp"

namespace nb {

struct PackedSettings {
  std::optional<std::int64_t> sequence_len;  // absent: the model's
  std::int64_t total_batch_tokens = 524288;  // of one optimizer step
  std::int64_t buffer = kPackingBuffer;      // conversations that a row chooses from
  double warmdown = 0.5;                     // of the conversations, in which the rate falls
  bool keeps_optimizer = true;               // begins with the moments of the stage before
  std::int64_t eval_tokens = 20971520;       // of one validation
  FieldList fields();
};

// Of the rate: 1 until a share of 1 - warmdown, then linear to 0 at 1 and behind it (the
// reference's falls below 0 by what its last batch has too much).
double packed_multiplier(double warmdown, double progress);

}  // namespace nb
