#include <fmt/format.h>

#include "harness/run/device_card.hpp"
#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"
#include "model/train/expected_error.hpp"
#include "model/train/predict.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {
constexpr double kHourNs = 3600e9;
}

Result<void> run_predict(const PredictWork& work, const StageContext& context, Record& record) {
  NB_TRY(const ResolvedDevice device, resolve_device(work.device, "device"));
  NB_TRY(const auto between_nodes, parse_node_links(device.content, "device"));
  NB_TRY(const Prediction prediction, predict(work.prediction, device.profile, between_nodes));
  if (!prediction.note.empty()) return bad_input(prediction.note);  // a record says what was asked
  const TrainingStage stage = work.prediction.stage;
  std::vector<Use> uses = {Use::kTrain};
  if (stage == TrainingStage::kSft || stage == TrainingStage::kRl) uses = {Use::kTune};
  if (stage == TrainingStage::kRl) uses.push_back(Use::kGenerate);
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
  if (stage == TrainingStage::kRl)
    add("generate_time_ns", prediction.generate_time_ns, "ns", Direction::kLower);
  if (const auto steps = work.prediction.steps) {
    const double time_ns = static_cast<double>(*steps) * prediction.step_time_ns;
    add("stage_time_ns", time_ns, "ns", Direction::kLower);
    add("card_hours", static_cast<double>(work.prediction.cards) * time_ns / kHourNs, "h",
        Direction::kLower);
  }
  add(metric::kThroughput, prediction.throughput_tok_s, "tok/s", Direction::kHigher);
  // RL's answers are work that the FLOP of the trained tokens do not count.
  if (stage != TrainingStage::kRl) add(metric::kMfu, prediction.mfu, "1", Direction::kHigher);
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
  if (const auto steps = work.prediction.steps) {
    metrics.push_back(counted("steps", static_cast<double>(*steps), "step"));
    metrics.push_back(counted(
        "tokens",
        static_cast<double>(*steps * work.prediction.tokens_per_step(prediction.device_batch_size)),
        "token"));
  }
  if (stage == TrainingStage::kBase)
    if (const auto error = expected_error(false, device.profile.identity))
      metrics.push_back(counted("expected_error", error->mean, "1", Direction::kNone, error->rows));
  metrics.push_back(counted("parameters", static_cast<double>(prediction.param_count), "1"));
  return {};
}

}  // namespace nb
