#include <fmt/format.h>

#include "harness/run/device_card.hpp"
#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"
#include "model/train/predict.hpp"
#include "results/metric_names.hpp"

namespace nb {

Result<void> run_predict(const PredictWork& work, const StageContext& context, Record& record) {
  NB_TRY(const ResolvedDevice device, resolve_device(work.device, "device"));
  NB_TRY(const auto between_nodes, parse_node_links(device.content, "device"));
  NB_TRY(const Prediction prediction, predict(work.prediction, device.profile, between_nodes));
  const Use uses[] = {Use::kTrain};
  describe_device(device, uses, static_cast<int>(work.prediction.cards), record);
  auto& metrics = record.metrics;
  const auto add = [&](const std::string& name, double value, const std::string& unit,
                       Direction direction) {
    const Metric metric = simulated(name, value, unit, direction);
    metrics.push_back(
        prediction.fits ? metric : unmeasured(metric, "does not fit: " + prediction.out_of_memory));
  };
  metrics.push_back(simulated("fits", prediction.fits ? 1 : 0, "1", Direction::kHigher));
  add(metric::kStepTime, prediction.step_time_ns, "ns", Direction::kLower);
  add("communication_time_ns", prediction.communication_time_ns, "ns", Direction::kLower);
  add(metric::kThroughput, prediction.throughput_tok_s, "tok/s", Direction::kHigher);
  add(metric::kMfu, prediction.mfu, "1", Direction::kHigher);
  add(metric::kPeakMemory, static_cast<double>(prediction.peak_allocated_bytes), "byte",
      Direction::kLower);
  add("peak_reserved_bytes", static_cast<double>(prediction.peak_reserved_bytes), "byte",
      Direction::kLower);
  if (!prediction.fits) {
    metrics.push_back(simulated("largest_device_batch_size",
                                static_cast<double>(prediction.largest_device_batch_size), "row",
                                Direction::kHigher));
    context.log(fmt::format("does not fit: {}; largest device batch that fits: {}",
                            prediction.out_of_memory, prediction.largest_device_batch_size));
  }
  metrics.push_back(simulated("device_batch_size",
                              static_cast<double>(prediction.device_batch_size), "row",
                              Direction::kNone));
  metrics.push_back(counted("parameters", static_cast<double>(prediction.param_count), "1"));
  return {};
}

}  // namespace nb
