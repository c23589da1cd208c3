#include "results/gate/gate_history.hpp"

#include <algorithm>
#include <iterator>

#include "harness/base/fs.hpp"
#include "harness/base/host_info.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/acceptance.hpp"

namespace nb {
namespace {

bool is_open(const GatedNight& night, const std::string& task) {
  return std::find(night.open.begin(), night.open.end(), task) != night.open.end();
}

}  // namespace

std::vector<GatedNight> nights_before(std::vector<GatedNight> nights, const GatedNight& tonight) {
  const auto own = std::ranges::find_if(
      nights, [&](const GatedNight& night) { return is_same_night(night, tonight); });
  nights.erase(own, nights.end());
  return nights;
}

std::vector<Sentence> alerts_of(const std::vector<GatedNight>& before, const GatedNight& tonight) {
  // Latest first, each run once, tonight's not again.
  std::vector<const GatedNight*> nights = {&tonight};
  for (auto night = before.rbegin(); night != before.rend(); ++night) {
    const bool is_known = std::any_of(nights.begin(), nights.end(), [&](const GatedNight* known) {
      return known->digest == night->digest;
    });
    if (night->suite == tonight.suite && !is_known) nights.push_back(&*night);
  }
  std::vector<Sentence> alerts;
  for (const std::string& task : tonight.open) {
    const auto end = std::find_if(nights.begin(), nights.end(),
                                  [&](const GatedNight* night) { return !is_open(*night, task); });
    const auto running = end - nights.begin();
    if (running >= kNightsToAlert)
      alerts.push_back(message("alert.still_open", task,
                               running % 10 == 3 && running != 13 ? message("alert.rd", running)
                                                                  : message("alert.th", running),
                               (*(end - 1))->when));
  }
  return alerts;
}

Result<void> remember_night(const fs::path& home, const RunRecords& baseline,
                            const RunRecords& candidate, GateResult& result,
                            const std::string& name_of_night) {
  GatedNight tonight;
  NB_TRY(tonight.digest, run_digest(candidate));
  tonight.when = utc_time_text();
  tonight.name = name_of_night;
  tonight.suite = candidate.path.filename().string();
  tonight.run = candidate.path.string();
  tonight.baseline = baseline.path.string();
  tonight.night = name(result.night);
  tonight.exit_code = result.exit_code;
  for (const TaskVerdict& v : result.verdicts)
    if (v.verdict == Verdict::kInconclusive) tonight.open.push_back(v.task());
  NB_TRY(auto nights, read_nights(home));
  std::ranges::move(alerts_of(nights_before(std::move(nights), tonight), tonight),
                    std::back_inserter(result.alerts));
  return write_night(home, tonight);
}

}  // namespace nb
