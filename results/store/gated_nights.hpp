// What was gated: one line per night in gates.jsonl beside the runs. A night of `npubench nightly`
// has a name; repeated, it replaces its line. A gate by hand that says of the same records once
// more what the suite's last line says (as after a kill) has no second one. No other line is ever
// changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"

namespace nb {

inline constexpr const char* kGateHistory = "gates.jsonl";
inline constexpr const char* kNightSchema = "npubench.night/1";

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
// Of two nights: the same suite and name; false without a name.
bool is_same_night(const GatedNight& a, const GatedNight& b);

}  // namespace nb
