#include "model/device/device_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/device/embedded_profiles.hpp"
#include "model/device/profile.hpp"
#include "model/device/profile_layers.hpp"

namespace nb {
namespace {

std::string peak_text(const MatrixUnitProfile& matrix) {
  const auto& bf16 = matrix.peak.bf16;
  if (bf16) return human_rate(bf16->value * 1e12, "flop/s");
  const auto& fp16 = matrix.peak.fp16;
  return fp16 ? "none (fp16: " + human_rate(fp16->value * 1e12, "flop/s") + ")" : "none";
}

std::string cores_text(const MatrixUnitProfile& matrix) {
  const std::string cores = number_text(matrix.cores.value);
  return matrix.clock ? fmt::format("{} at {} GHz", cores, matrix.clock->value) : cores;
}

}  // namespace

Result<TextTable> device_table() {
  TextTable table{{"device", "", "memory", "bf16 peak", "cores", "cards", "stack"}, {}};
  for (const std::string& name : profile_names()) {
    NB_TRY(const DeviceProfile profile, load_profile(name));
    table.rows.push_back({name, profile.identity.title,
                          human_bytes(profile.memory.usable.value * (1 << 30)),
                          peak_text(profile.matrix), cores_text(profile.matrix),
                          number_text(profile.links.devices.value),
                          profile.stack.empty() ? "its own" : profile.stack});
  }
  return table;
}

Result<TextTable> stack_table() {
  TextTable table{{"stack", "", "machines", "family"}, {}};
  for (const std::string& name : stack_names()) {
    for (const EmbeddedFile& file : embedded_stacks()) {
      if (file.name != name) continue;
      NB_TRY(const Json json, parse_json(file.text, name));
      table.rows.push_back(
          {name, json.value("title", std::string()),
           fmt::format("{}", fmt::join(json.value("kinds", std::vector<std::string>()), ", ")),
           json.value("family", std::string())});
    }
  }
  return table;
}

}  // namespace nb
