#include "model/train/validation.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "model/data/bits_per_byte.hpp"
#include "model/kernels/reduce.hpp"

namespace nb {

Result<double> validation_bits_per_byte(Decoder& decoder, TokenLoader& loader, const Json& start,
                                        const Tokenizer& tokenizer, const ValidationPlan& plan) {
  NB_TRY_VOID(loader.restore(start), "validation data");
  return bits_per_byte_of(decoder, tokenizer, plan,
                          [&] { return loader.next(plan.rows, plan.length); });
}

double mean_loss_of(Decoder& decoder, const Batch& batch) {
  const std::vector<float> losses =
      decoder.token_losses(batch.inputs, batch.targets, batch.rows, batch.length);
  const auto count = std::ranges::count_if(batch.targets, [](int target) { return target >= 0; });
  return count == 0 ? 0 : kernels::sum_in_order(losses) / static_cast<double>(count);
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
