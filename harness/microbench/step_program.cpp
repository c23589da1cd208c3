// One training step (4 × 256 tokens): d2 on the host clock, d2 and d4 simulated. Other sizes, and
// forwards: npubench_step.
#include <cmath>
#include <memory>

#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "harness/microbench/whole_step.hpp"
#include "model/decoder/presets.hpp"
#include "model/train/dry_step.hpp"

namespace nb {
namespace {

constexpr std::int64_t kStepVocabulary = 4096, kStepTime = 256, kStepRows = 4;

void add_host(std::int64_t depth, const MicrobenchRequest& request, const DeviceProfile& profile) {
  const auto training = std::make_shared<std::unique_ptr<WholeStep>>();
  const WholeStepSettings settings = {.depth = depth,
                                      .vocabulary = kStepVocabulary,
                                      .length = kStepTime,
                                      .rows = kStepRows,
                                      .tokens = kStepRows * kStepTime};
  const HostBenchmark what{.name = "step/d" + std::to_string(depth),
                           .min_time_s = request.min_time_s,
                           .flop = settings.flop(),
                           .tokens = static_cast<double>(settings.tokens),
                           .inputs = profile.numerics.matmul_inputs};
  register_host(
      what, [settings, training, &profile](benchmark::State& state) -> std::function<void()> {
        if (*training == nullptr) {
          try {
            *training = std::make_unique<WholeStep>(profile, settings);
            // A fresh model's output projection is zero: every token costs ln V
            // (nanochat's gpt.py).
            const double loss = (*training)->run();
            if (!(std::fabs(loss - std::log(static_cast<double>(kStepVocabulary))) < 1e-5))
              state.SkipWithError("the loss of a fresh model is not ln V");
            (*training)->run();
          } catch (const OutOfMemory& error) {
            state.SkipWithError((std::string(kUnmeasured) + error.what()).c_str());
            training->reset();
            return {};
          }
        }
        return [training] { (*training)->run(); };
      });
}

void add_simulated(std::int64_t depth, const DeviceProfile& profile) {
  register_simulated("step/d" + std::to_string(depth), [depth, &profile](benchmark::State& state) {
    const DryStep step =
        run_dry_step({.config = config_for_depth(depth, kStepVocabulary, kStepTime),
                      .device_batch_size = kStepRows},
                     profile);
    state.counters["rate_tok_s"] =
        kStepRows * kStepTime / (static_cast<double>(step.step_time_ns) * 1e-9);
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
