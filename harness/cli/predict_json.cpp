#include <nlohmann/json.hpp>

#include "harness/cli/predict_output.hpp"
#include "model/train/mfu.hpp"

namespace nb::cli {
namespace {

template <class Name, class T, std::size_t n>
Json by_name(const std::array<T, n>& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < n; ++i) json[std::string(name(static_cast<Name>(i)))] = values[i];
  return json;
}

Json peak_json(const PeakMemory& peak) {
  return {{"allocated_bytes", peak.allocated_bytes}, {"reserved_bytes", peak.reserved_bytes}};
}

// Sums of one step: by class and by limiter the same, to the nanosecond.
void add_account(Json& json, const TimeAccount& account) {
  json["time_by_op_class_ns"] = by_name<OpClass>(account.class_ns);
  json["time_by_limiter_ns"] = by_name<TimeLimit>(account.limit_ns);
  json["launches"] = account.launch_count();
  json["launches_by_op_class"] = by_name<OpClass>(account.launches);
  json["moved_bytes_by_op_class"] = by_name<OpClass>(account.bytes);
}

void add_outlook(Json& json, const PredictedRun& run) {
  const RunOutlook& outlook = *run.outlook;
  const auto cards = static_cast<double>(run.settings.cards);
  const auto whole = [&](double step_ns) {
    const double time_ns = static_cast<double>(*outlook.steps) * step_ns;
    return Json{{"steps", *outlook.steps},
                {"steps_by_recipe", outlook.is_by_recipe},
                {"time_ns", time_ns},
                {"card_hours", cards * time_ns / 3600e9}};
  };
  json["whole_stage"] = outlook.steps ? whole(run.prediction.step_time_ns) : Json();
  json["expected_error"] = expected_error_json(outlook.error);
  if (outlook.batch)
    json["largest_batch"] = {
        {"rows", outlook.batch->rows},
        {"margin", outlook.batch->rows > 0 ? Json(outlook.batch->margin()) : Json()},
        {"one_row_more_lacks", outlook.batch->next_lack()},
        {"borderline", outlook.batch->is_borderline()}};
  if (outlook.against.empty()) return;
  Json& other = json["against"] = {{"device", outlook.against}, {"fits", outlook.other->fits}};
  if (!outlook.other->fits) return;
  other["device_batch_size"] = outlook.other->device_batch_size;
  other["step_time_ns"] = outlook.other->step_time_ns;
  other["step_time_ratio"] = run.prediction.step_time_ns / outlook.other->step_time_ns;
  if (outlook.steps) other["whole_stage"] = whole(outlook.other->step_time_ns);
}

}  // namespace

Json expected_error_json(const std::optional<ExpectedError>& error) {
  if (!error) return {};
  return {{"mean", error->mean},
          {"largest", error->largest > 0 ? Json(error->largest) : Json()},
          {"rows", error->rows},
          {"of", std::string(error->of)}};
}

Json prediction_json(const PredictedRun& run) {
  const PredictSettings& settings = run.settings;
  const Prediction& prediction = run.prediction;
  const Quantity& peak = mfu_peak(run.profile);
  Json json{{"device", run.device},
            {"stack", run.profile.stack},
            {"settings", print_struct(settings)},
            {"clock", "sim"},
            {"fits", prediction.fits},
            {"borderline", prediction.is_borderline},
            {"note", prediction.note},
            {"nodes", prediction.nodes},
            {"device_batch_size", prediction.device_batch_size},
            {"device_batch_size_is_chosen", !settings.device_batch_size},
            {"parameters", prediction.param_count},
            {"flops_per_token", prediction.flops_per_token},
            {"flop_convention", kFlopConvention},
            {"mfu_peak",
             {{"value", peak.value},
              {"unit", peak.unit},
              {"of", "card"},
              {"dtype", std::string(name(mfu_dtype(run.profile)))}}}};
  if (const auto& conf = run.profile.software.alloc_conf) json["alloc_conf"] = conf->value;
  if (!prediction.fits) {
    json["out_of_memory"] = prediction.out_of_memory;
    json["largest_device_batch_size"] = prediction.largest_device_batch_size;
    json["largest_dividing_batch_size"] = prediction.largest_dividing_batch_size;
    return json;
  }
  json["accumulation_steps"] = prediction.accumulation_steps;
  json["step_time_ns"] = prediction.step_time_ns;
  json["communication_time_ns"] = prediction.communication_time_ns;
  if (settings.stage == TrainingStage::kRl) json["generate_time_ns"] = prediction.generate_time_ns;
  if (settings.steps) {
    json["stage_time_ns"] = static_cast<double>(*settings.steps) * prediction.step_time_ns;
    json["tokens"] = *settings.steps * settings.tokens_per_step(prediction.device_batch_size);
  }
  if (run.outlook != nullptr) add_outlook(json, run);
  json["throughput_tok_s"] = prediction.throughput_tok_s;
  json["mfu"] = prediction.mfu;
  add_account(json, prediction.account);
  json["peak_allocated_bytes"] = prediction.peak_allocated_bytes;
  json["peak_reserved_bytes"] = prediction.peak_reserved_bytes;
  json["peak_memory"] = {{"rule",
                          "first_iteration: when the first step is over; steady: of a later step "
                          "alone, the peaks being reset before it; peak_allocated_bytes: the "
                          "largest since the start, as torch's max_memory_allocated"},
                         {"first_iteration", peak_json(prediction.first_peak)},
                         {"steady", peak_json(prediction.steady_peak)}};
  json["steady_peak_bytes_by_category"] = by_name<BlockUse>(prediction.peak_by_use);
  return json;
}

Json fit_json(const std::string& device, const PredictSubject& subject, const FittingBatch& batch) {
  Json json{{"device", device},
            {"stack", subject.profile.stack},
            {"settings", print_struct(subject.settings)},
            {"clock", "sim"},
            {"largest_device_batch_size", batch.rows},
            {"capacity_bytes", batch.capacity_bytes},
            {"needed_bytes", batch.needed_bytes},
            {"margin", batch.rows > 0 ? Json(batch.margin()) : Json()},
            {"one_row_more_needs_bytes", batch.next_needed_bytes},
            {"one_row_more_lacks", batch.next_lack()},
            {"borderline", batch.is_borderline()}};
  if (const auto& conf = subject.profile.software.alloc_conf) json["alloc_conf"] = conf->value;
  return json;
}

}  // namespace nb::cli
