// A dry run of a training step on 8 cards: host time of one prediction, by depth. The name says how
// many kernels the step launches; the time should be a straight line over them. Verified: twice the
// same answer.
#include <fmt/format.h>

#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/train/predict.hpp"

namespace nb {

void register_predict(const MicrobenchRequest& request, const DeviceProfile& profile) {
  for (const std::int64_t depth : {8, 16, 24, 32, 40}) {
    PredictSettings settings;
    settings.depth = depth;
    settings.device_batch_size = 1;
    const Result<Prediction> answer = predict(settings, profile);
    const auto kernels = answer ? answer->account.launch_count() : 0;
    const HostBenchmark what{.name = fmt::format("predict/d{}/{} kernels", depth, kernels),
                             .min_time_s = request.min_time_s};
    register_host(what, [=, &profile](benchmark::State& state) -> std::function<void()> {
      const Result<Prediction> again = predict(settings, profile);
      if (!answer || !again || !answer->fits) {
        const std::string why = answer ? answer->out_of_memory : answer.error().message;
        state.SkipWithError((kUnmeasured + why).c_str());
        return {};
      }
      if (again->step_time_ns != answer->step_time_ns || again->account != answer->account) {
        state.SkipWithError("a second prediction differs");
        return {};
      }
      return [=, &profile] { benchmark::DoNotOptimize(predict(settings, profile)); };
    });
  }
}

}  // namespace nb
