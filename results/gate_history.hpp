// What was gated: one line a night in gates.jsonl beside the runs. A night of `npubench nightly`
// has a name; repeated, it replaces its line. A gate by hand that says of the same records once
// more what the suite's last line says (as after a kill) has no second one. No other line is ever
// changed. From the lines comes the alert that a task could not tell for the third night running.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/gate.hpp"

namespace nb {

inline constexpr const char* kGateHistory = "gates.jsonl";
inline constexpr const char* kNightSchema = "npubench.night/1";
inline constexpr int kNightsToAlert = 3;

struct GatedNight {
  std::string schema = kNightSchema;
  std::string when;  // UTC
  std::string suite;
  std::string name;         // of the night: one line a suite and name; empty: a gate by hand
  std::string run, digest;  // of the candidate; the same digest is the same night
  std::string baseline;     // folder that it was judged against
  std::string night;        // verdict
  std::int64_t exit_code = 0;
  std::vector<std::string> open;  // verdicts that were "can't tell", by task()
  FieldList fields();
};

// Lines in their order; half a line (of a killed process) and lines of a newer schema are left out.
// No file: none.
Result<std::vector<GatedNight>> read_nights(const std::filesystem::path& home);
// Appends it, or puts it in place of the line of the same suite and name, or leaves a gate by
// hand's own. One process at a time; killed, the file is the old one or the new.
Result<void> write_night(const std::filesystem::path& home, const GatedNight& night);

// The nights whose lines stand before that of `tonight`; all of them where it has none yet.
std::vector<GatedNight> nights_before(std::vector<GatedNight> nights, const GatedNight& tonight);

// Tonight after the nights before it, of the same suite: one sentence for each check that could not
// tell on kNightsToAlert different nights running, tonight included.
std::vector<Sentence> alerts_of(const std::vector<GatedNight>& before, const GatedNight& tonight);

// After a night: writes its line and puts its alerts into the result. The candidate must be a run
// folder on disk. Errors: a folder that cannot be written, a history of which a line makes no
// sense.
Result<void> remember_night(const std::filesystem::path& home, const RunRecords& baseline,
                            const RunRecords& candidate, GateResult& result,
                            const std::string& name_of_night = "");

}  // namespace nb
