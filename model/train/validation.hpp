// Validation bits per byte: always the same first tokens of the validation loader. nanochat's
// loss_eval.py.
#pragma once

#include <cstdint>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/data/loader.hpp"
#include "model/decoder/decoder.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

struct ValidationPlan {
  std::int64_t batches = 1;
  std::int64_t rows = 1;
  std::int64_t length = 1;
};

// `start`: the loader's state before its first batch; it is rewound to it. bad_input when no target
// stands for a byte.
Result<double> validation_bits_per_byte(Decoder& decoder, TokenLoader& loader, const Json& start,
                                        const Tokenizer& tokenizer, const ValidationPlan& plan);

}  // namespace nb
