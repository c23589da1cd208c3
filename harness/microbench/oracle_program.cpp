// The oracle: the device's software with everything in fp32, its products by our kernels in the
// canonical order and by OpenBLAS in the library's. A d2 learns for 20 steps from the same weights
// and data on both sides, then scores 200 sequences; what differs is the order of additions alone,
// so losses and scores must agree within the envelope of fp32 errors. What is timed is our step.
// The differences depend on the host, as everything of OpenBLAS does: no gated metric is made of
// them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/presets.hpp"
#include "model/kernels/openblas.hpp"
#include "model/optim/groups.hpp"
#include "model/train/step.hpp"

namespace nb {
namespace {

constexpr std::int64_t kDepth = 2, kOracleVocabulary = 512, kTime = 64, kRows = 8;
constexpr std::int64_t kSteps = 20, kOracleItems = 200;
// Measured against OpenBLAS 0.3.21 with AVX2, on one thread and two: 4.8e-7 nat, which is one unit
// of an fp32 loss, and 1.3e-4 nat. OpenBLAS adds in another order on other hosts: the limits leave
// room.
constexpr double kLossLimit = 2e-5;     // nat, of any step's loss
constexpr double kLogProbLimit = 1e-3;  // nat, of any token of the items

// A text with a rule to learn: mostly the sum of the two tokens before.
Batch text(std::uint64_t number, std::int64_t rows) {
  const Rng rng(number, "oracle text");
  Batch batch{rows, kTime, {}, {}};
  std::uint64_t index = 0;
  const auto drawn = [&](std::int64_t count) {
    return static_cast<int>(rng.below(index++, static_cast<std::uint64_t>(count)));
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<int> ids = {drawn(kOracleVocabulary), drawn(kOracleVocabulary)};
    while (std::ssize(ids) <= kTime) {
      const bool follows = drawn(8) != 0;
      const int any = drawn(kOracleVocabulary);
      ids.push_back(follows ? (ids[ids.size() - 1] + ids[ids.size() - 2]) % 32 : any);
    }
    batch.inputs.insert(batch.inputs.end(), ids.begin(), ids.end() - 1);
    batch.targets.insert(batch.targets.end(), ids.begin() + 1, ids.end());
  }
  return batch;
}

DeviceProfile in_fp32(DeviceProfile profile, Accumulation accumulation) {
  NumericsPolicy& n = profile.numerics;
  for (DType* type : {&n.storage, &n.matmul_inputs, &n.matmul_output, &n.weight_gradient,
                      &n.embedding_weight, &n.adam_moments, &n.muon_momentum, &n.muon_matmul})
    *type = DType::kFp32;
  n.linear_inputs.reset();
  n.accumulation = accumulation;
  n.split_k = 1;
  n.loss_scaling = LossScaling::kNone;
  n.vector_functions = VectorFunctions::kPrecise;
  return profile;
}

class Side {
 public:
  Side(const DeviceProfile& profile, Accumulation accumulation)
      : device_(in_fp32(profile, accumulation), ExecutionMode::kExecute, {.trace_steps = 0}),
        decoder_(config_for_depth(kDepth, kOracleVocabulary, kTime), device_) {
    decoder_.init(1);
    optimizers_ = make_optimizers(decoder_, {});
  }
  double step() {
    const std::int64_t step = steps_++;
    return run_step(decoder_, optimizers_, {.accumulation_steps = 1, .grad_clip = 1},
                    {.step = step}, [&] { return text(static_cast<std::uint64_t>(step), kRows); })
        .loss;
  }
  // Of every token of the items.
  std::vector<float> log_probs() {
    const Batch batch = text(1U << 20, kOracleItems);
    std::vector<float> all(batch.targets.size());
    decoder_.score_tokens(batch.inputs, batch.targets, batch.rows, batch.length, all, {});
    return all;
  }

 private:
  Device device_;
  Decoder decoder_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::int64_t steps_ = 0;
};

struct Oracle {
  Side ours, theirs;
  double loss_difference = 0, log_prob_difference = 0;

  explicit Oracle(const DeviceProfile& profile)
      : ours(profile, Accumulation::kChain), theirs(profile, Accumulation::kHostBlas) {
    const auto widen = [](double& widest, double a, double b) {
      const double apart = std::fabs(a - b);
      if (!(apart <= widest)) widest = apart;  // NaN too
    };
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const double a = ours.step(), b = theirs.step();
      widen(loss_difference, a, b);
    }
    const std::vector<float> a = ours.log_probs(), b = theirs.log_probs();
    for (std::size_t i = 0; i < a.size(); ++i)
      widen(log_prob_difference, static_cast<double>(a[i]), static_cast<double>(b[i]));
  }
  // Empty: they agree.
  std::string fault() const {
    if (loss_difference <= kLossLimit && log_prob_difference <= kLogProbLimit) return "";
    return fmt::format(
        "fp32 of our kernels and of OpenBLAS are apart: losses of {} steps {:.3g} nat (limit "
        "{:.3g}), scores of {} items {:.3g} nat (limit {:.3g})",
        kSteps, loss_difference, kLossLimit, kOracleItems, log_prob_difference, kLogProbLimit);
  }
};

}  // namespace

void register_oracle(const MicrobenchRequest& request, const DeviceProfile& profile) {
  const auto oracle = std::make_shared<std::unique_ptr<Oracle>>();
  const HostBenchmark what{.name = "oracle/d2",
                           .min_time_s = request.min_time_s,
                           .tokens = static_cast<double>(kRows * kTime),
                           .inputs = DType::kFp32};
  register_host(what, [oracle, &profile](benchmark::State& state) -> std::function<void()> {
    if (kernels::openblas_info().core.empty()) {
      state.SkipWithError((std::string(kUnmeasured) + kernels::openblas_info().config).c_str());
      return {};
    }
    if (*oracle == nullptr) {
      try {
        *oracle = std::make_unique<Oracle>(profile);
      } catch (const OutOfMemory& error) {
        state.SkipWithError((std::string(kUnmeasured) + error.what()).c_str());
        return {};
      }
    }
    if (const std::string fault = (*oracle)->fault(); !fault.empty()) {
      state.SkipWithError(fault.c_str());
      return {};
    }
    state.counters["loss_difference"] = (*oracle)->loss_difference;
    state.counters["log_prob_difference"] = (*oracle)->log_prob_difference;
    return [oracle] { (*oracle)->ours.step(); };
  });
}

}  // namespace nb
