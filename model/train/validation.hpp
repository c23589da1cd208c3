// Validation bits per byte: always the same first tokens of the validation loader. nanochat's
// loss_eval.py.
#pragma once

#include <cstdint>
#include <functional>

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

// Of plan.batches batches that next() gives. bad_input when no target stands for a byte.
Result<double> bits_per_byte_of(Decoder& decoder, const Tokenizer& tokenizer,
                                const ValidationPlan& plan, const std::function<Batch()>& next);
// Mean over the targets of a batch (nat); 0 where it has none.
double mean_loss_of(Decoder& decoder, const Batch& batch);
// `start`: the loader's state before its first batch; it is rewound to it.
Result<double> validation_bits_per_byte(Decoder& decoder, TokenLoader& loader, const Json& start,
                                        const Tokenizer& tokenizer, const ValidationPlan& plan);

}  // namespace nb
