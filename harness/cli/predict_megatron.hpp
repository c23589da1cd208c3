// A training step of Megatron's kind as text and JSON.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/predict/megatron_request.hpp"
#include "model/train/fit_batch.hpp"

namespace nb::cli {

Json megatron_json(const PredictRequest& request, const MegatronAnswer& answer);
Json megatron_fit_json(const PredictRequest& request, const MegatronAnswer& answer,
                       const FittingBatch& batch);
std::string megatron_fit_text(const PredictRequest& request, const MegatronAnswer& answer,
                              const FittingBatch& batch);
// The part that takes most of the slowest stage, or of the step beside it: "attention".
std::string_view largest_part(const MegatronStep& step);
std::string megatron_text(const PredictRequest& request, const MegatronAnswer& answer);

}  // namespace nb::cli
