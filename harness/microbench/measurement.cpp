#include "harness/microbench/measurement.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/json_io.hpp"
#include "harness/microbench/timing.hpp"

namespace nb {
namespace {

struct NamedKind {
  const char* name;
  const char* unit;
  bool higher_is_better;
};
constexpr NamedKind kKinds[] = {
    {"time_ns", "ns", false},
    {"rate_gflop_s", "Gflop/s", true},
    {"share_of_peak", "1", true},
    {"ratio_to_openblas", "1", true},
    {"rate_gb_s", "GB/s", true},
    {"share_of_bandwidth", "1", true},
    {"rate_tok_s", "tok/s", true},
    {"ratio_to_prefill", "1", true},
    {"ratio_to_unshared", "1", true},
    {"bus_bandwidth_gb_s", "GB/s", true},
    {"peak_memory_bytes", "byte", false},
    {"loss_difference", "nat", false},
    {"log_prob_difference", "nat", false},
};

bool is_value(const std::string& name) {
  for (const NamedKind& kind : kKinds)
    if (name == kind.name) return true;
  return false;
}

Result<Measurement> parse_one(const Json& entry, const std::string& where) {
  // "sim/all_reduce/1MiB/iterations:1/manual_time": ours is what stands before Google Benchmark's
  // parts.
  std::string name = entry.value("name", "");
  for (const char* part : {"/min_time:", "/iterations:", "/manual_time", "/real_time"})
    name = name.substr(0, name.find(part));
  Measurement result;
  result.is_simulated = name.starts_with("sim/");
  if (!result.is_simulated && !name.starts_with("host/"))
    return run_error(fmt::format("{}: benchmark \"{}\" names no clock", where, name));
  result.name = name.substr(name.find('/') + 1);
  result.repetitions = entry.value("iterations", std::int64_t{0});
  if (entry.value("error_occurred", false)) {
    const std::string message = entry.value("error_message", "");
    if (!message.starts_with(kUnmeasured))
      return run_error(fmt::format("{}: {}: {}", where, name, message));
    result.unmeasured = message.substr(std::string(kUnmeasured).size());
    return result;
  }
  for (const auto& [key, value] : entry.items())
    if (is_value(key) && value.is_number()) result.values[key] = value.get<double>();
  if (!result.values.contains("time_ns"))
    return run_error(fmt::format("{}: {} has no time_ns", where, name));
  return result;
}

}  // namespace

ValueKind value_kind(const std::string& name) {
  for (const NamedKind& kind : kKinds)
    if (name == kind.name) return {kind.unit, kind.higher_is_better};
  NB_CHECK(false, "[microbench] no value is named {}", name);
}

Result<std::vector<Measurement>> parse_measurements(const std::string& json,
                                                    const std::string& where) {
  NB_TRY(const Json document, parse_json(json, where));
  if (!document.is_object() || !document.contains("benchmarks") ||
      !document["benchmarks"].is_array())
    return run_error(where + ": not the JSON of Google Benchmark: no /benchmarks");
  std::vector<Measurement> result;
  for (const Json& entry : document["benchmarks"]) {
    NB_TRY(Measurement measurement, parse_one(entry, where));
    result.push_back(std::move(measurement));
  }
  return result;
}

}  // namespace nb
