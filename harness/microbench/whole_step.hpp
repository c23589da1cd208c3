// A model, its optimizers and one fixed batch: what the step benchmarks time. Model, vocabulary and
// tokens are functions of the settings alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "model/data/loader.hpp"
#include "model/decoder/config.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/optim/optimizer.hpp"

namespace nb {

struct WholeStepSettings {
  std::int64_t depth = 4;
  std::int64_t layers = 0;  // of the width of `depth`; 0: depth
  std::int64_t vocabulary = 4096;
  std::int64_t length = 256;    // T
  std::int64_t rows = 8;        // B of a micro-batch
  std::int64_t tokens = 16384;  // of an optimizer step; a multiple of rows × length
  bool is_forward = false;      // scoring alone: log-probability of every token and argmax
  std::string stage =
      "base";  // whose objective and software stack: base, sft, rl; all tokens count

  FieldList fields();
  DecoderConfig config() const;
  double flop() const;  // 6 N tokens + attention (config.hpp); a third of it for a forward
};
Result<void> check_settings(const WholeStepSettings& settings, const std::string& where);

Batch random_batch(const WholeStepSettings& settings);  // the same each time

class WholeStep {
 public:
  // Throws OutOfMemory of the emulated device.
  WholeStep(const DeviceProfile& profile, const WholeStepSettings& settings);
  // A step over `tokens`: micro-batches, clipping (BASE alone), AdamW and Muon; or their scoring.
  // Training gives the mean loss, scoring the mean of the negative log-probabilities, in nat.
  double run();
  Device& device() { return device_; }

 private:
  double train();
  double train_on_policy();
  double score();
  std::int64_t micro_batches() const {
    return settings_.tokens / (settings_.rows * settings_.length);
  }

  WholeStepSettings settings_;
  Device device_;
  Decoder decoder_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  Batch batch_;
  std::vector<float> log_probs_;
  std::vector<int> argmax_;
  std::int64_t steps_ = 0;
};

}  // namespace nb
