#include "harness/cli/predict_ask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/cli/own_constants.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/device/alloc_conf.hpp"

namespace nb::cli {
namespace {

// eager and compiled say how the device's own stack runs the model where it trains.
DeviceEntry entry_of(const PredictQuestion& question) {
  DeviceEntry entry;
  entry.name = entry.profile = question.device;
  if (question.stack == "eager" || question.stack == "compiled")
    entry.stacks = {{"train", question.stack}, {"tune", question.stack}};
  else if (!question.stack.empty())
    entry.stack = question.stack;
  return entry;
}

Result<PredictSettings> settings_of(const PredictQuestion& question) {
  Json json = Json::object();
  for (const auto& [field, text] : question.given) {
    if (text.empty()) continue;
    const bool is_list = field == "answer_lengths" && !text.starts_with('[');  // 64,128
    const Json value = Json::parse(is_list ? "[" + text + "]" : text, nullptr,
                                   /*allow_exceptions=*/false);
    json[field] = value.is_discarded() ? Json(text) : value;
  }
  return parse_struct<PredictSettings>(json, "predict");
}

}  // namespace

Result<PredictQuestion> with_entry(PredictQuestion question, const std::string& field,
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
    question.device = text;
  else if (key == "stack")
    question.stack = text;
  else if (key == "alloc_conf")
    question.alloc_conf = text;
  else
    question.given[key] = text;
  return question;
}

Result<PredictSubject> subject_of(const PredictQuestion& question) {
  NB_TRY(ResolvedDevice device, resolve_device(entry_of(question), "--device"));
  NB_TRY(PredictSettings settings, settings_of(question));
  NB_TRY(auto between_nodes, parse_node_links(device.content, "--device"));
  if (!question.alloc_conf.empty())
    NB_TRY_VOID(set_alloc_conf(device.profile, question.alloc_conf, "--alloc-conf"));
  NB_TRY_VOID(put_own_constants(device.profile, question.own_constants));
  return PredictSubject{std::move(device.profile), std::move(settings), std::move(between_nodes)};
}

}  // namespace nb::cli
