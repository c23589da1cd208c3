// One night: run a suite (or import the results of two machines), gate, report, remove old nights.
// Its folder is <nights>/<name>; the same name again resumes it and replaces what it wrote and its
// line in the history. One night at a time in a folder of nights. Its files:
// results/store/night_files.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/nightly/step.hpp"
#include "results/gate/gate.hpp"

namespace nb {

struct NightRequest {
  std::string suite;                 // file; without imports
  std::vector<std::string> imports;  // none, or what is judged against and what is judged
  std::string nights, name;          // name: checked by name_of_night
  std::string baseline;              // run folder; empty: what was accepted last in `nights`
  std::string policy;
  std::string language = "en";
  std::int64_t keep = 30;  // nights that stay, accepted ones apart; 0: all
  bool strict = false;
};

struct Night {
  std::string name;
  std::filesystem::path folder;
  std::string candidate, baseline;  // run folders; empty: nothing was judged
  std::vector<NightStep> steps;
  std::optional<GateResult> gate;
  std::string counts;            // of the run: "15 executed, 0 reused, …"
  std::filesystem::path report;  // report.html; empty: none
  std::string accept;            // without a baseline: the command that makes this night one
  std::uint64_t disk_bytes = 0;
  int exit_code = 0;
};

// `given`, or today's date (UTC). Refused: what is no plain name of a folder.
Result<std::string> name_of_night(const std::string& given);

// Says on stderr what it is doing. Errors, where there is nothing to judge: a suite or an import
// that cannot be read (bad_input), another night in the folder, a run that left nothing.
Result<Night> run_night(const NightRequest& request);

std::string night_text(const Night& night);  // the summary, one screen
Json night_json(const Night& night);

}  // namespace nb
