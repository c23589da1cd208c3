#include "model/train/predict.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/predict_output.hpp"
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
  const PredictedRun run = {options.device, device->profile, *settings, *prediction};
  if (options.json) {
    if (const int printed = print_json(prediction_json(run)); printed != kExitOk) return printed;
  } else if (prediction->fits) {
    fmt::print("{}", prediction_text(run));
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
