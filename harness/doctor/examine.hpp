// Doctor's work from end to end: texts and what is known besides → facts, checks and a word about
// each text. Prints nothing.
#pragma once

#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"
#include "harness/doctor/assignments.hpp"
#include "harness/doctor/check.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/facts.hpp"

namespace nb::doctor {

// A text that somebody captured: a file, standard input, a member of an archive.
struct Captured {
  std::string name;
  std::string text;
};

// What one text was taken for.
struct Recognized {
  std::string name;
  std::vector<std::string> kinds;  // "npu-smi info", "log"; empty: a blank text
};

struct Findings {
  Facts facts;
  std::vector<Check> checks;  // sorted
  std::vector<Recognized> recognized;
  Diagnosis diagnosis;  // of logs
  long long log_lines = 0;
  bool is_captured = true;     // false: this machine
  std::string command_output;  // of this machine: what npu-smi and hccn_tool printed
};

// log: what their logs and those that were streamed say. given: what the command line says
// (context, nodes, ranks, versions).
Findings examine(const std::vector<Captured>& texts, const Facts& given,
                 const LogReading& log = {});

struct Counts {
  int passed = 0, notes = 0, warnings = 0, failures = 0, skipped = 0, unknown = 0;
};
Counts count(const Findings& findings);
// Captured texts among which nothing is of a known kind: that they are well is not known.
bool knows_nothing(const Findings& findings);
// 0 no FAIL; 1 at least one, or logs of a run that failed; 2 with is_strict: WARN or unknown.
int exit_code(const Findings& findings, bool is_strict);

// is_quiet: failures and warnings alone.
std::string text_of(const Findings& findings, Language language, bool is_quiet);
// Schema npubench.doctor/1. The same findings give the same bytes.
Json json_of(const Findings& findings, Language language);

}  // namespace nb::doctor
