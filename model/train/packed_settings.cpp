#include "model/train/packed_settings.hpp"

#include <algorithm>

namespace nb {

FieldList PackedSettings::fields() {
  return {{"sequence_len",
           "tokens per row; absent: the model's",
           &sequence_len,
           {.unit = "token", .min = 2}},
          {"total_batch_tokens",
           "tokens of one optimizer step; a multiple of device_batch_size × sequence_len",
           &total_batch_tokens,
           {.unit = "token", .min = 1}},
          {"buffer",
           "conversations from which a row takes the longest that fits",
           &buffer,
           {.min = 1, .max = 1000000}},
          {"warmdown",
           "share of the conversations in which the rate falls to 0, the last ones",
           &warmdown,
           {.min = 0, .max = 1}},
          {"keeps_optimizer", "begins with the optimizers' moments of the stage before",
           &keeps_optimizer},
          {"eval_tokens",
           "tokens of one validation, rounded down to whole batches",
           &eval_tokens,
           {.unit = "token", .min = 1}}};
}

double packed_multiplier(double warmdown, double progress) {
  const double falling_from = 1 - warmdown;
  if (progress <= falling_from) return 1;
  return warmdown == 0 ? 0 : std::max(0.0, 1 - (progress - falling_from) / warmdown);
}

}  // namespace nb
