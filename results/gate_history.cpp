#include "results/gate_history.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "harness/base/fs.hpp"
#include "harness/base/host_info.hpp"
#include "harness/base/json_io.hpp"
#include "results/acceptance.hpp"

namespace nb {
namespace {

bool is_open(const GatedNight& night, const std::string& task) {
  return std::find(night.open.begin(), night.open.end(), task) != night.open.end();
}

}  // namespace

FieldList GatedNight::fields() {
  return {{"schema", "npubench.night/1", &schema, {.required = true}},
          {"when", "UTC", &when},
          {"suite", "gated suite", &suite, {.required = true}},
          {"run", "candidate's folder", &run},
          {"digest", "of its records", &digest},
          {"baseline", "judged against", &baseline},
          {"night", "verdict", &night, {.required = true}},
          {"exit_code", "of the gate", &exit_code},
          {"open", "checks that could not tell", &open}};
}

Result<std::vector<GatedNight>> read_nights(const fs::path& home) {
  const fs::path path = home / kGateHistory;
  std::vector<GatedNight> nights;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return nights;
  NB_TRY(const std::string text, read_file(path));
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string where = fmt::format("{}:{}", path.string(), ++number);
    const auto json = parse_json_line(std::string_view(text).substr(begin, end - begin), where);
    begin = end + 1;
    // Half a line of a killed process, or what a newer program wrote.
    if (!json || !json->is_object() || json->value("schema", "") != kNightSchema) continue;
    NB_TRY(GatedNight night, parse_struct<GatedNight>(*json, where));
    nights.push_back(std::move(night));
  }
  return nights;
}

Result<void> append_night(const fs::path& home, const GatedNight& night) {
  NB_TRY(const std::string line, dump_json(print_struct(night), -1));
  return append_line(home / kGateHistory, line);
}

std::vector<std::string> alerts_of(const std::vector<GatedNight>& before,
                                   const GatedNight& tonight) {
  // Latest first, each run once, tonight's not again.
  std::vector<const GatedNight*> nights = {&tonight};
  for (auto night = before.rbegin(); night != before.rend(); ++night) {
    const bool is_known = std::any_of(nights.begin(), nights.end(), [&](const GatedNight* known) {
      return known->digest == night->digest;
    });
    if (night->suite == tonight.suite && !is_known) nights.push_back(&*night);
  }
  std::vector<std::string> alerts;
  for (const std::string& task : tonight.open) {
    const auto end = std::find_if(nights.begin(), nights.end(),
                                  [&](const GatedNight* night) { return !is_open(*night, task); });
    const auto running = end - nights.begin();
    if (running >= kNightsToAlert)
      alerts.push_back(fmt::format(
          "ALERT: {} could not tell for the {}{} night running, since {}: it cannot do its job; "
          "give "
          "it more items or seeds, or a noise card",
          task, running, running % 10 == 3 && running != 13 ? "rd" : "th", (*(end - 1))->when));
  }
  return alerts;
}

Result<void> remember_night(const fs::path& home, const RunRecords& baseline,
                            const RunRecords& candidate, GateResult& result) {
  GatedNight tonight;
  NB_TRY(tonight.digest, run_digest(candidate));
  tonight.when = utc_time_text();
  tonight.suite = candidate.path.filename().string();
  tonight.run = candidate.path.string();
  tonight.baseline = baseline.path.string();
  tonight.night = name(result.night);
  tonight.exit_code = result.exit_code;
  for (const TaskVerdict& v : result.verdicts)
    if (v.verdict == Verdict::kInconclusive) tonight.open.push_back(v.task());
  NB_TRY(const auto before, read_nights(home));
  std::ranges::move(alerts_of(before, tonight), std::back_inserter(result.alerts));
  return append_night(home, tonight);
}

}  // namespace nb
