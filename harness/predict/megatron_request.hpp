// What is asked of a training step of Megatron's kind, and the answer in closed form
// (model/predict): `npubench predict --model llama2-7b --tp 8`. Some flags are nanochat's dry
// steps' too, others its own.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "harness/predict/request.hpp"
#include "model/device/profile.hpp"
#include "model/predict/megatron_job.hpp"
#include "model/predict/megatron_memory.hpp"
#include "model/predict/megatron_step.hpp"

namespace nb {

// Flags of its own as texts; empty: not given.
struct MegatronFlags {
  std::string tp = {}, pp = {}, vpp = {};
  std::string optimizer = {};                   // adam, distributed
  std::map<std::string, std::string> run = {};  // the other fields of MegatronRun, by their names
};
// The fields of MegatronRun that are flags by their own names: cp, dtype, mc2, …
std::span<const Field> megatron_run_flags();

// Whose answer is asked for: that of a decoder's preset, by a dry step, or this one's. bad_input:
// a model that neither knows, with the nearest name; flags of its own with a decoder's preset.
Result<bool> asks_megatron(const PredictRequest& request, const MegatronFlags& flags);

struct MegatronAnswer {
  DeviceProfile profile;
  MegatronJob job;
  MegatronStep step;
  MegatronMemory memory;
  double capacity_bytes = 0;  // that weights and activations may have
  // What neither a flag nor the model's file says, and what was taken: "dtype" → "bf16".
  std::vector<std::pair<std::string, std::string>> assumed;
  // Where mc2 decides and nobody says it: the step with it. `step` is without.
  std::optional<MegatronStep> step_with_mc2;
  std::optional<std::int64_t> steps;          // of the whole run, as asked
  std::string against;                        // --against; empty: not asked
  std::optional<MegatronStep> step_of_other;  // there

  bool fits() const { return memory.steady_peak_bytes <= capacity_bytes; }
  bool is_borderline() const;  // 2 % more or less memory would change that
  // Of the peak of 16-bit products, all keys counted; absent: the machine has none.
  std::optional<double> mfu() const;
};
// A model's file has its sizes, or is a Hugging Face config.json; with sizes it may have any field
// of MegatronRun, which flags overrule. bad_input, one sentence: flags that decide nothing here, a
// file without a size, ranks that tp x pp does not divide, heads that tp does not, tokens that are
// no whole rows, a type that the machine's products lack.
Result<MegatronAnswer> ask_megatron(const PredictRequest& request, const MegatronFlags& flags);

// The same job on another device, under its own software.
Result<void> ask_against(PredictRequest request, const MegatronFlags& flags,
                         const std::string& device, MegatronAnswer& answer);
}  // namespace nb
