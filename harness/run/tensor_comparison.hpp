// Two runs tensor by tensor: outputs of ops that both wrote in the same order (tensors.safetensors
// of a captured or an emulated run), how far apart they are, and the first op that is further than
// rounding goes. Knows files; decides no verdict (results/gate/gate.hpp does).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

class SafetensorsFile;

// An op's output is beyond when one side alone is not finite, when its cosine is not above
// min_cosine, or when an element is both further away than max_ulp of its format and than max_abs:
// near zero an ulp means nothing. Defaults: one ulp of bf16 and fp16, 32 of fp32, which is what
// another order of sums makes in one op; cosine and absolute difference as Ascend's msprobe has
// them for single ops (MindStudio training tools, accuracy checking).
struct TensorTolerance {
  double max_ulp_half = 1;
  double max_ulp_single = 32;
  double min_cosine = 0.99;
  double max_abs = 0.001;
};

struct TensorDifference {
  std::string label;            // "item own/places/5f0c…", "step 000003"
  std::string op;               // "transformer.h.0.attn.q_rotary"
  std::string type;             // the coarser of both sides': "F32", "BF16", "F16"
  std::int64_t count = 0;       // elements
  double relative = 0;          // ‖b − a‖ / ‖a‖; 0 where both are zero
  double cosine = 1;            // 1 where both are zero
  double max_abs = 0;           // of b − a
  double max_ulp = 0;           // in `type`
  std::int64_t not_finite = 0;  // elements that are finite on one side alone
  bool is_equal = false;        // bit for bit
  std::string beyond;           // "cosine 0.52, not above 0.99"; empty: within the tolerance
};

// "item own/places/5f0c…/transformer.h.0.attn" → what is before and behind the last slash.
struct TensorName {
  std::string label, op;
};
TensorName tensor_name(const std::string& name);
// The names in the order in which the ops ran. bad_input: the file has no such list.
Result<std::vector<std::string>> tensor_order(const SafetensorsFile& file);
// The tensors.safetensors of a run's records, by the kind of their record; or that one file, of no
// kind.
Result<std::vector<std::pair<std::string, std::filesystem::path>>> tensor_files(
    const std::filesystem::path& run);
// The rank_tensors.csv of a run's trainings of several ranks (tensor_digests.hpp), by the stage of
// each; or that one file, of no stage. May be empty.
Result<std::vector<std::pair<std::string, std::filesystem::path>>> digest_files(
    const std::filesystem::path& run);

struct TensorComparison {
  std::string file_a, file_b;
  std::vector<TensorDifference> tensors;  // in A's order
  std::optional<std::size_t> first;       // the first that is beyond
  std::vector<std::string> only_a, only_b;
};

// bad_input: no file of tensors, no order in it, nothing in common, other tokens as input, or
// another number of elements.
Result<TensorComparison> compare_tensor_files(const std::filesystem::path& a,
                                              const std::filesystem::path& b,
                                              const TensorTolerance& tolerance);
// The tensors.safetensors of runs, paired by kind and order of record; or two such files.
Result<std::vector<TensorComparison>> compare_tensors(const std::filesystem::path& a,
                                                      const std::filesystem::path& b,
                                                      const TensorTolerance& tolerance);

// Terminal, 80 columns: the first op beyond, and the ops of its label.
std::string tensor_text(const TensorComparison& comparison, const TensorTolerance& tolerance);
Json tensor_json(const TensorComparison& comparison);

}  // namespace nb
