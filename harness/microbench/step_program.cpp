// One training step (4 × 256 tokens): d2 on the host clock, d2 and d4 simulated.
#include <cmath>
#include <memory>
#include <vector>

#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/device/device.hpp"
#include "model/gpt/gpt.hpp"
#include "model/optim/groups.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/step.hpp"

namespace nb {
namespace {

constexpr std::int64_t kVocabulary = 4096, kTime = 256, kRows = 4;

class Training {
 public:
  explicit Training(const DeviceProfile& profile, std::int64_t depth)
      : config_(config_for_depth(depth, kVocabulary, kTime)),
        device_(profile, ExecutionMode::kExecute, {.trace_steps = 0}),
        gpt_(config_, device_) {
    gpt_.init(1);
    optimizers_ = make_optimizers(gpt_, {});
    batch_ = {.rows = kRows, .length = kTime, .inputs = {}, .targets = {}};
    const Rng rng(1, "microbench tokens");
    for (std::uint64_t i = 0; i < kRows * kTime; ++i) {
      batch_.inputs.push_back(static_cast<int>(rng.below(2 * i, kVocabulary)));
      batch_.targets.push_back(static_cast<int>(rng.below(2 * i + 1, kVocabulary)));
    }
  }
  double step() {
    const StepPlan plan{.accumulation_steps = 1, .rows = kRows, .length = kTime, .grad_clip = 1};
    return run_step(gpt_, optimizers_, plan, {}, [&] { return batch_; }).loss;
  }

 private:
  GptConfig config_;
  Device device_;
  Gpt gpt_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  Batch batch_;
};

void add_host(std::int64_t depth, const MicrobenchRequest& request, const DeviceProfile& profile) {
  const auto training = std::make_shared<std::unique_ptr<Training>>();
  const GptConfig config = config_for_depth(depth, kVocabulary, kTime);
  const double tokens = kRows * kTime;
  const HostBenchmark what{.name = "step/d" + std::to_string(depth),
                           .min_time_s = request.min_time_s,
                           .flop = tokens * static_cast<double>(flops_per_token(config)),
                           .tokens = tokens,
                           .inputs = profile.numerics.matmul_inputs};
  register_host(what,
                [depth, training, &profile](benchmark::State& state) -> std::function<void()> {
                  if (*training == nullptr) {
                    try {
                      *training = std::make_unique<Training>(profile, depth);
                      // A fresh model's output projection is zero: every token costs ln V
                      // (nanochat.md §1.4).
                      const double loss = (*training)->step();
                      if (!(std::fabs(loss - std::log(static_cast<double>(kVocabulary))) < 1e-5))
                        state.SkipWithError("the loss of a fresh model is not ln V");
                      (*training)->step();
                    } catch (const OutOfMemory& error) {
                      state.SkipWithError((std::string(kUnmeasured) + error.what()).c_str());
                      training->reset();
                      return {};
                    }
                  }
                  return [training] { (*training)->step(); };
                });
}

void add_simulated(std::int64_t depth, const DeviceProfile& profile) {
  register_simulated("step/d" + std::to_string(depth), [depth, &profile](benchmark::State& state) {
    const DryStep step = run_dry_step(
        {.config = config_for_depth(depth, kVocabulary, kTime), .device_batch_size = kRows},
        profile);
    state.counters["rate_tok_s"] = kRows * kTime / (static_cast<double>(step.step_time_ns) * 1e-9);
    state.counters["peak_memory_bytes"] = static_cast<double>(step.peak_allocated_bytes);
    return step.step_time_ns;
  });
}

}  // namespace

void register_step(const MicrobenchRequest& request, const DeviceProfile& profile) {
  add_host(2, request, profile);
  for (const std::int64_t depth : {2, 4}) add_simulated(depth, profile);
}

}  // namespace nb
