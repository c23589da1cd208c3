#include "harness/faults/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "harness/base/fields.hpp"

namespace nb {
namespace {

constexpr std::string_view kConnect = "HCCL_CONNECT_TIMEOUT", kExec = "HCCL_EXEC_TIMEOUT",
                           kEvent = "HCCL_EVENT_TIMEOUT", kExpansion = "HCCL_OP_EXPANSION_MODE";
constexpr std::int64_t kStep910A = 68, kMost910A = 17340;  // 910A and 310P
constexpr double kAivLimit = 1091, kAfterExec = 1800, kEventAfterExec = 30;
constexpr double kTakenAsDefault = 1800;  // init_process_group's own default

using Environment = std::map<std::string, std::string>;

Result<std::optional<std::int64_t>> whole_of(const Environment& environment, std::string_view name,
                                             std::int64_t low, std::int64_t high) {
  const auto at = environment.find(std::string(name));
  if (at == environment.end()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const std::string& text = at->second;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < low || value > high)
    return run_error(fmt::format(
        "EI0001: Value {} for environment variable {} is invalid. Expected value: [{}, {}].", text,
        name, low, high));
  return std::optional<std::int64_t>(value);
}

bool rounds_exec(const DeviceProfile& profile) {
  return profile.name().find("910a") != std::string::npos ||
         profile.name().find("310p") != std::string::npos;
}

}  // namespace

Result<Limits> read_limits(const Environment& environment,
                           std::optional<double> process_group_timeout_s,
                           const DeviceProfile& profile, const std::string& where) {
  Limits limits;
  limits.is_hccl = profile.links.library.value == "hccl";
  const std::vector<std::string> known =
      limits.is_hccl ? std::vector<std::string>{std::string(kConnect), std::string(kExec),
                                                std::string(kEvent), std::string(kExpansion)}
                     : std::vector<std::string>{};
  for (const auto& [name, value] : environment)
    if (std::ranges::find(known, name) == known.end())
      return bad_input(
          fmt::format("{}: /environment/{}: nothing on {} reads it{}{}", where, name,
                      profile.name(), did_you_mean(name, known),
                      known.empty() ? "" : fmt::format(" (known: {})", fmt::join(known, ", "))));
  if (!limits.is_hccl) {
    limits.watchdog_s = process_group_timeout_s.value_or(profile.links.timeout.value);
    limits.exec_s = limits.event_s = 0;
    return limits;
  }
  constexpr std::int64_t kMost = 2147483647;
  const bool rounds = rounds_exec(profile);
  NB_TRY(const auto connect, whole_of(environment, kConnect, 120, 7200));
  NB_TRY(const auto exec,
         whole_of(environment, kExec, rounds ? kStep910A : 0, rounds ? kMost910A : kMost));
  NB_TRY(const auto event, whole_of(environment, kEvent, 0, kMost));
  if (connect) limits.connect_s = static_cast<double>(*connect);
  if (exec) limits.exec_s = static_cast<double>(rounds ? *exec / kStep910A * kStep910A : *exec);
  if (exec && rounds && *exec % kStep910A != 0)
    limits.warnings.push_back(
        fmt::format("ENV136: {} takes multiples of 68 s: HCCL_EXEC_TIMEOUT {} means {:.0f}",
                    profile.name(), *exec, limits.exec_s));
  if (const auto mode = environment.find(std::string(kExpansion)); mode != environment.end()) {
    constexpr std::array kModes = {"HOST", "HOST_TS", "AI_CPU", "AIV"};
    if (std::ranges::find(kModes, mode->second) == kModes.end())
      return run_error(fmt::format(
          "EI0001: Value {} for environment variable {} is invalid. Expected value: {}.",
          mode->second, kExpansion, fmt::join(kModes, ", ")));
    if (mode->second == "AIV" && (limits.exec_s == 0 || limits.exec_s > kAivLimit))
      limits.exec_s = kAivLimit;
  }
  const bool never = limits.exec_s == 0;
  limits.event_s = event   ? static_cast<double>(*event)
                   : never ? 0
                           : limits.exec_s + kEventAfterExec;
  if (process_group_timeout_s && *process_group_timeout_s != kTakenAsDefault)
    limits.watchdog_s = *process_group_timeout_s;
  else
    limits.watchdog_s = never ? 0 : limits.exec_s + kAfterExec;
  if (!never && limits.exec_s <= limits.connect_s)
    limits.warnings.push_back(fmt::format(
        "ENV133: execution limit {:.0f} s is not above the connection limit {:.0f} s: a slow link "
        "is reported as a hang",
        limits.exec_s, limits.connect_s));
  if (!never && limits.watchdog_s > 0 && limits.watchdog_s <= limits.exec_s)
    limits.warnings.push_back(
        fmt::format("ENV137: the watchdog of torch_npu ({:.0f} s) ends the process before HCCL "
                    "writes its own reason ({:.0f} s)",
                    limits.watchdog_s, limits.exec_s));
  if (event && *event != 0 && static_cast<double>(*event) <= limits.exec_s)
    limits.warnings.push_back(
        fmt::format("ENV138: HCCL_EVENT_TIMEOUT {} should be above HCCL_EXEC_TIMEOUT ({:.0f})",
                    *event, limits.exec_s));
  return limits;
}

}  // namespace nb
