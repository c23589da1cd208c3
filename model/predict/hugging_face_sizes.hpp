// config.json of a Hugging Face model folder as the sizes of a closed form: it asks what a model
// costs, so whatever changes no size is passed over (model/train/hugging_face_config.hpp asks what
// it computes).
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/predict/megatron_job.hpp"

namespace nb {

bool is_hugging_face_config(const Json& json);
// bad_input: a model_type that is not in the table, or a mixture of experts; a size that is
// missing.
Result<MegatronModel> parse_hugging_face_sizes(const Json& json, const std::string& where);

}  // namespace nb
