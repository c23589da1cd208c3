#include "model/predict/megatron_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace nb {
namespace {

constexpr int kMicroBatches = 0, kParts = 1;  // threads of a stage

double microseconds(double time_ns) { return time_ns / 1000; }

Json slice(std::string_view name, std::size_t stage, int thread, double start_ns, double time_ns) {
  return {{"ph", "X"},     {"name", std::string(name)},    {"pid", stage},
          {"tid", thread}, {"ts", microseconds(start_ns)}, {"dur", microseconds(time_ns)}};
}

Json named(const char* what, std::size_t stage, int thread, std::string text) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", stage},
          {"tid", thread},
          {"args", {{"name", std::move(text)}}}};
}

bool is_traced(std::int64_t index, std::int64_t count) {
  return index < kTracedMicroBatches / 2 || index >= count - kTracedMicroBatches / 2;
}

void add_micro_batch(Json& events, std::size_t stage, const MegatronStage& s, double start_ns,
                     std::int64_t index) {
  events.push_back(
      slice(fmt::format("micro-batch {}", index), stage, kMicroBatches, start_ns, s.total_ns()));
  double at = start_ns;
  for (const auto& [name, time_ns] :
       std::array{std::pair{"products", s.product_ns}, std::pair{"attention", s.attention_ns},
                  std::pair{"pointwise", s.vector_ns},
                  std::pair{"communication", s.communication_ns}, std::pair{"host", s.host_ns}}) {
    if (time_ns <= 0) continue;
    events.push_back(slice(name, stage, kParts, at, time_ns));
    at += time_ns;
  }
}

}  // namespace

Json megatron_trace(const MegatronJob& job, const MegatronStep& step) {
  const MegatronRun& run = job.run;
  const std::int64_t count = run.micro_batches();
  const double over_ns = step.step_ns - step.data_parallel_ns - step.optimizer_ns;
  const double each_ns = (over_ns - step.bubble_ns) / static_cast<double>(count);
  Json events = Json::array();
  double before_ns = 0;  // until the first micro-batch is there
  for (std::size_t s = 0; s < step.stages.size(); ++s) {
    events.push_back(named("process_name", s, 0, fmt::format("{}, stage {}", job.name, s)));
    events.push_back(named("thread_name", s, kMicroBatches, "micro-batches"));
    events.push_back(named("thread_name", s, kParts, "spent on"));
    for (std::int64_t i = 0; i < count; ++i)
      if (is_traced(i, count))
        add_micro_batch(events, s, step.stages[s], before_ns + static_cast<double>(i) * each_ns, i);
    before_ns += step.stages[s].total_ns() / static_cast<double>(run.vpp);
    if (step.data_parallel_ns > 0)
      events.push_back(
          slice("exchange of replicas", s, kMicroBatches, over_ns, step.data_parallel_ns));
    events.push_back(
        slice("optimizer", s, kMicroBatches, over_ns + step.data_parallel_ns, step.optimizer_ns));
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
}

}  // namespace nb
