// A training step of so many data-parallel cards against the same micro-batches on one.
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <memory>

#include "harness/base/check.hpp"
#include "harness/base/table.hpp"
#include "harness/microbench/scaling.hpp"
#include "harness/microbench/stopwatch.hpp"
#include "model/train/data_ranks.hpp"

namespace nb {
namespace {

double processor_time_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class RankStep {
 public:
  RankStep(const DeviceProfile& profile, const WholeStepSettings& settings, std::int64_t ranks)
      : batch_(random_batch(settings)),
        plan_{.accumulation_steps = settings.tokens / (settings.rows * settings.length),
              .grad_clip = 1},
        device_(profile, ExecutionMode::kExecute,
                {.ranks = static_cast<int>(ranks), .trace_steps = 0}),
        model_(settings.config(), device_) {
    prepare_ranks(MeshSettings{.dp = ranks}, model_,
                  [](TrainedModel& one) { prepare_optimizers(one, {}, {}); });
    model_.decoder.init(1);
    if (model_.ranks != nullptr) model_.ranks->share();
  }
  double run() {
    return run_step(model_, plan_, {.step = steps_++}, [&] { return batch_; }).loss;
  }

 private:
  Batch batch_;
  StepPlan plan_;
  Device device_;
  TrainedModel model_;
  std::int64_t steps_ = 0;
};

}  // namespace

Turns measure_ranks(const ScalingRequest& request, const DeviceProfile& profile) {
  Turns turns{.names = {}, .flop = request.step.flop(), .runs = {}};
  std::vector<std::unique_ptr<RankStep>> steps;
  for (const std::int64_t count : request.rank_counts) {
    turns.names.push_back(std::to_string(count));
    steps.push_back(std::make_unique<RankStep>(profile, request.step, count));
    steps.back()->run();  // makes the buffers
  }
  turns.runs.resize(steps.size());
  for (std::int64_t round = 0; round < request.rounds; ++round)
    for (std::size_t i = 0; i < steps.size(); ++i) {
      TimedStep& now = turns.runs[i].emplace_back();
      const double before_s = processor_time_s();
      now.time_s = seconds_of([&] { steps[i]->run(); });
      now.processor_s = processor_time_s() - before_s;
    }
  return turns;
}

std::string ranks_text(const Turns& turns) {
  TextTable table{{"cards", "time", "processor time", "time over the first", "processor time"}, {}};
  for (std::size_t i = 0; i < turns.runs.size(); ++i) {
    const auto of = [&](double TimedStep::*what, bool is_ratio) {
      std::vector<double> values;
      for (std::size_t round = 0; round < turns.runs[i].size(); ++round)
        values.push_back(turns.runs[i][round].*what / (is_ratio ? turns.runs[0][round].*what : 1));
      return median(values);
    };
    table.rows.push_back({turns.names[i], fmt::format("{:.4f} s", of(&TimedStep::time_s, false)),
                          fmt::format("{:.4f} s", of(&TimedStep::processor_s, false)),
                          fmt::format("{:.3f}", of(&TimedStep::time_s, true)),
                          fmt::format("{:.3f}", of(&TimedStep::processor_s, true))});
  }
  return to_text(table);
}

}  // namespace nb
