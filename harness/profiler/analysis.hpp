// All that is said of one profile: tables, verdicts, notes. Made once, shown as text, JSON, CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"
#include "harness/base/result.hpp"
#include "harness/doctor/check.hpp"
#include "harness/profiler/expectation.hpp"
#include "harness/profiler/figures.hpp"
#include "harness/profiler/profile.hpp"
#include "harness/profiler/table.hpp"
#include "harness/profiler/verdicts.hpp"

namespace nb::profiler {

struct AnalysisOptions {
  std::string step = "all";               // a name, "all" or "steady"
  std::optional<std::int64_t> rank = {};  // the only one; absent: all, details of the first
  std::size_t top = 10;
  const DeviceProfile* device = nullptr;  // for expectations; may be none
};

struct Analysis {
  const Profile* profile = nullptr;
  std::vector<RankFigures> figures;  // by rank
  std::vector<Table> tables;         // in the order of the specification
  std::vector<Verdict> verdicts;
  std::vector<doctor::Check> environment;  // doctor's rules on what the profile says was set
  std::vector<Said> notes;
};

// The profile outlives it. bad_input: no such rank or step.
Result<Analysis> analyse(const Profile& profile, const AnalysisOptions& options);

// details: with all tables, not the summary and the verdicts alone.
std::string text_of(const Analysis& analysis, Language language);
// The lines of the summary alone: what the step was spent on.
std::string summary_text(const Analysis& analysis, Language language);
// Schema npubench.profile/1. The same profile gives the same bytes.
Json json_of(const Analysis& analysis, Language language);

}  // namespace nb::profiler
