#include "model/train/predict.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/run/preflight.hpp"
#include "harness/suite/device_entry.hpp"

namespace nb::cli {
namespace {

struct Options {
  std::string device;
  std::string stack;                         // eager, compiled, or a name; empty: the device's own
  std::map<std::string, std::string> given;  // field of PredictSettings → text
  bool json = false;
};

// eager and compiled say how the device's own stack runs the model where it trains.
DeviceEntry entry_of(const Options& options) {
  DeviceEntry entry;
  entry.name = entry.profile = options.device;
  if (options.stack == "eager" || options.stack == "compiled")
    entry.stacks = {{"train", options.stack}, {"tune", options.stack}};
  else if (!options.stack.empty())
    entry.stack = options.stack;
  return entry;
}

Result<PredictSettings> settings_of(const Options& options) {
  Json json = Json::object();
  for (const auto& [field, text] : options.given) {
    if (text.empty()) continue;
    const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    json[field] = value.is_discarded() ? Json(text) : value;
  }
  return parse_struct<PredictSettings>(json, "predict");
}

Json prediction_json(const Options& options, const DeviceProfile& profile,
                     const PredictSettings& settings, const Prediction& prediction) {
  Json json{{"device", options.device},
            {"stack", profile.stack},
            {"settings", print_struct(settings)},
            {"clock", "sim"},
            {"fits", prediction.fits},
            {"nodes", prediction.nodes},
            {"device_batch_size", prediction.device_batch_size},
            {"device_batch_size_is_chosen", !settings.device_batch_size},
            {"parameters", prediction.param_count},
            {"flops_per_token", prediction.flops_per_token}};
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
    json["tokens"] = *settings.steps * settings.tokens_per_step();
  }
  json["throughput_tok_s"] = prediction.throughput_tok_s;
  json["mfu"] = prediction.mfu;
  json["peak_allocated_bytes"] = prediction.peak_allocated_bytes;
  json["peak_reserved_bytes"] = prediction.peak_reserved_bytes;
  return json;
}

// "8 rows per card (given)"; "8 rows per card (largest that fits; 16 do not)".
std::string batch_text(const PredictSettings& settings, const Prediction& p) {
  const std::string rows = count_text(p.device_batch_size, "row") + " per card";
  if (settings.device_batch_size) return rows + " (given)";
  if (p.too_large_batch_size == 0) return rows + " (largest that divides the step)";
  return fmt::format("{} (largest that fits; {} do not)", rows, p.too_large_batch_size);
}

std::string prediction_text(const Options& options, const PredictSettings& settings,
                            const Prediction& p) {
  TextTable table{{"simulated", ""}, {}};
  auto& rows = table.rows;
  rows.push_back({"device", fmt::format("{} × {}", settings.cards, options.device)});
  if (p.nodes > 1)
    rows.push_back(
        {"nodes", fmt::format("{} of {}", p.nodes, count_text(settings.cards / p.nodes, "card"))});
  rows.push_back({"model", fmt::format("{} d{}, {} parameters", settings.model.value_or("nanochat"),
                                       settings.depth, with_commas(p.param_count))});
  rows.push_back({"device batch", batch_text(settings, p)});
  rows.push_back(
      {"step", fmt::format("{}, {} tokens: {} of {} × {} per card", name(settings.stage),
                           with_commas(settings.tokens_per_step()),
                           count_text(p.accumulation_steps, "micro-batch", "micro-batches"),
                           p.device_batch_size,
                           settings.tokens_per_step() /
                               (p.accumulation_steps * p.device_batch_size * settings.cards))});
  rows.push_back({"step time", human_time_ns(p.step_time_ns)});
  rows.push_back({"  waiting for other cards", human_time_ns(p.communication_time_ns)});
  if (settings.stage == TrainingStage::kRl)
    rows.push_back({"  generating answers", human_time_ns(p.generate_time_ns)});
  if (settings.steps) {
    const double time_ns = static_cast<double>(*settings.steps) * p.step_time_ns;
    rows.push_back({"stage", fmt::format("{} steps, {} tokens: {}, {:.1f} card-hours",
                                         with_commas(*settings.steps),
                                         with_commas(*settings.steps * settings.tokens_per_step()),
                                         human_time_ns(time_ns),
                                         static_cast<double>(settings.cards) * time_ns / 3600e9)});
  }
  rows.push_back({"throughput", human_rate(p.throughput_tok_s, "tok/s")});
  if (settings.stage != TrainingStage::kRl)
    rows.push_back({"MFU", fmt::format("{:.1f} %", 100 * p.mfu)});
  rows.push_back(
      {"peak memory, allocated", human_bytes(static_cast<double>(p.peak_allocated_bytes))});
  rows.push_back(
      {"peak memory, reserved", human_bytes(static_cast<double>(p.peak_reserved_bytes))});
  return to_text(table, kTextWidth);
}

int predict_verb(const Options& options) {
  const DeviceEntry entry = entry_of(options);
  const auto device = resolve_device(entry, "--device");
  if (!device) return fail(device.error());
  const auto settings = settings_of(options);
  if (!settings) return fail(settings.error());
  const auto between_nodes = parse_node_links(device->content, "--device");
  if (!between_nodes) return fail(between_nodes.error());
  const auto prediction = predict(*settings, device->profile, *between_nodes);
  if (!prediction) return fail(prediction.error());
  if (options.json) {
    const int printed =
        print_json(prediction_json(options, device->profile, *settings, *prediction));
    if (printed != kExitOk) return printed;
  } else if (prediction->fits) {
    fmt::print("{}", prediction_text(options, *settings, *prediction));
  }
  if (prediction->fits) return kExitOk;
  return fail({ErrorCode::kRun, fmt::format("{}: {}; {}", options.device, prediction->out_of_memory,
                                            largest_batch_text(*prediction))});
}

}  // namespace

Action add_predict(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--device", options->device, "profile (npubench list devices)")->required();
  app.add_option("--stack", options->stack,
                 "software on it: eager, compiled, or a name (npubench list stacks); default: the "
                 "device's own");
  const PredictSettings defaults;
  const Json values = print_struct(defaults);
  for (const Field& field : PredictSettings{}.fields()) {
    std::string flags = flag_of(field.name);
    if (field.name == "device_batch_size") flags += ",--device-batch";
    if (field.name == "cards") flags += ",--ranks";
    const auto value = values.find(field.name);
    const bool has_default = value != values.end() && !value->is_null();
    app.add_option(
        flags, options->given[field.name],
        has_default ? fmt::format("{} (default: {})", field.doc, value->dump()) : field.doc);
  }
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "Exit codes: 0 it fits, 4 it does not (with the device's own message and the largest batch "
      "that fits), 64 bad usage.");
  return [options] { return predict_verb(*options); };
}

}  // namespace nb::cli
