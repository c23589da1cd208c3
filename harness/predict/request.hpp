// What the command line of `npubench predict` asks of nanochat's dry steps, and the answer. Knows
// flags as texts; how answers look is predict_output.hpp's.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "model/device/profile.hpp"
#include "model/train/predict.hpp"

namespace nb {

struct PredictRequest {
  std::string device;
  std::string stack;                         // eager, compiled, or a name; empty: the device's own
  std::string alloc_conf;                    // empty: the stack's own
  std::string own_constants;                 // file of profile --fit; empty: the shipped ones
  std::map<std::string, std::string> given;  // field of PredictSettings → text; empty: not given
};

// The same with one entry changed: "device", "stack", "alloc_conf" or a field, with _ or -.
// bad_input: no such entry, with the nearest name; `others` are names that the caller knows.
Result<PredictRequest> with_entry(PredictRequest request, const std::string& field,
                                  const std::string& text,
                                  std::span<const std::string_view> others = {});

struct PredictSubject {
  DeviceProfile profile;
  PredictSettings settings;
  std::optional<NodeLinkProfile> between_nodes;
};
Result<PredictSubject> subject_of(const PredictRequest& request);

}  // namespace nb
