// What a resumed run must share with the one that wrote the checkpoint, in all stages.
#pragma once

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/decoder.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// Settings (without keep_steps: which checkpoints stay is nothing that one of them could tell),
// model, device with its machine's numbers, the numerics in effect, tokenizer. Stages add their
// data.
Json identity_of_run(Json hashed_settings, const Decoder& decoder, const Tokenizer& tokenizer);

// bad_input: the device's numerics ask for something that training does not do yet.
Result<void> check_trainable(const Device& device);

}  // namespace nb
