// Which of AdamW's two denominators a stage trains with: the one that its settings ask for; else
// that of the model's preset (BASE) or of the weights that it begins with. Pure but for the file.
#pragma once

#include <optional>
#include <string>

#include "harness/base/fields.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/optim/adamw.hpp"
#include "model/train/safetensors.hpp"
#include "model/train/settings.hpp"

namespace nb {

// "adamw_denominator": "scaled_step" or "bias_corrected"; absent: chosen as above.
Field adamw_field(std::optional<std::string>* asked);

// bad_input: a name or a model that there is not.
Result<AdamWDenominator> base_adamw(const TrainSettings& settings);
// A file without a history (converted, say) is taken for nanochat's of 2025-10, or for one of 2026
// where its architecture is, which began after 4ddc803.
Result<AdamWDenominator> stage_adamw(const std::optional<std::string>& asked,
                                     const SafetensorsFile& parent);

// What a checkpoint says of it: nothing for scaled_step, as before there was a choice.
void add_adamw(AdamWDenominator denominator, Json& identity);

}  // namespace nb
