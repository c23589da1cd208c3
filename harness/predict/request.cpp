#include "harness/predict/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/predict/own_constants.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/device/alloc_conf.hpp"

namespace nb {
namespace {

// eager and compiled say how the device's own stack runs the model where it trains.
DeviceEntry entry_of(const PredictRequest& request) {
  DeviceEntry entry;
  entry.name = entry.profile = request.device;
  if (request.stack == "eager" || request.stack == "compiled")
    entry.stacks = {{"train", request.stack}, {"tune", request.stack}};
  else if (!request.stack.empty())
    entry.stack = request.stack;
  return entry;
}

Result<PredictSettings> settings_of(const PredictRequest& request) {
  Json json = Json::object();
  for (const auto& [field, text] : request.given) {
    if (text.empty()) continue;
    const bool is_list = field == "answer_lengths" && !text.starts_with('[');  // 64,128
    const Json value = Json::parse(is_list ? "[" + text + "]" : text, nullptr,
                                   /*allow_exceptions=*/false);
    json[field] = value.is_discarded() ? Json(text) : value;
  }
  return parse_struct<PredictSettings>(json, "predict");
}

}  // namespace

Result<PredictRequest> with_entry(PredictRequest request, const std::string& field,
                                  const std::string& text,
                                  std::span<const std::string_view> others) {
  std::string key = field;
  std::ranges::replace(key, '-', '_');
  if (key == "ranks") key = "cards";
  std::vector<std::string> known = {"device", "stack", "alloc_conf"};
  for (const Field& own : PredictSettings{}.fields()) known.push_back(own.name);
  const bool is_known = std::ranges::count(known, key) > 0;
  known.insert(known.end(), others.begin(), others.end());
  if (!is_known)
    return bad_input(fmt::format("sweep: no field \"{}\"{} (known: {})", field,
                                 did_you_mean(key, known), fmt::join(known, ", ")));
  if (key == "device")
    request.device = text;
  else if (key == "stack")
    request.stack = text;
  else if (key == "alloc_conf")
    request.alloc_conf = text;
  else
    request.given[key] = text;
  return request;
}

Result<PredictSubject> subject_of(const PredictRequest& request) {
  NB_TRY(ResolvedDevice device, resolve_device(entry_of(request), "--device"));
  NB_TRY(PredictSettings settings, settings_of(request));
  NB_TRY(auto between_nodes, parse_node_links(device.content, "--device"));
  if (!request.alloc_conf.empty())
    NB_TRY_VOID(set_alloc_conf(device.profile, request.alloc_conf, "--alloc-conf"));
  NB_TRY_VOID(put_own_constants(device.profile, request.own_constants));
  return PredictSubject{std::move(device.profile), std::move(settings), std::move(between_nodes)};
}

}  // namespace nb
