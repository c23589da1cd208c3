#include "model/train/validation.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "model/data/bits_per_byte.hpp"

namespace nb {

Result<double> validation_bits_per_byte(Decoder& decoder, TokenLoader& loader, const Json& start,
                                        const Tokenizer& tokenizer, const ValidationPlan& plan) {
  NB_TRY_VOID(loader.restore(start), "validation data");
  return bits_per_byte_of(decoder, tokenizer, plan,
                          [&] { return loader.next(plan.rows, plan.length); });
}

Result<double> bits_per_byte_of(Decoder& decoder, const Tokenizer& tokenizer,
                                const ValidationPlan& plan, const std::function<Batch()>& next) {
  BitsPerByte bits(tokenizer.token_bytes());
  for (std::int64_t i = 0; i < plan.batches; ++i) {
    const Batch batch = next();
    bits.add(decoder.token_losses(batch.inputs, batch.targets, plan.rows, plan.length),
             batch.targets);
  }
  const std::optional<double> value = bits.value();
  if (!value) return bad_input("validation data: no target stands for a byte; give some text");
  return *value;
}

}  // namespace nb
