// A phase of a night in a process of its own: this very program with other arguments, what it says
// in a log file. A crash or a killed phase is an exit code, and a phase ends with its night.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

// Of a child: the process that it ends with (ended_with_parent).
inline constexpr const char* kEndsWithVariable = "NPUBENCH_ENDS_WITH";

struct NightStep {
  std::string name;  // "run", "import_1", "gate", "report", "gc"
  int exit_code = 0;
  double seconds = 0;
  std::filesystem::path log;  // what it said
  std::string note;           // in place of "ok"
};

// npubench <arguments…>; says on stderr that it begins and how it ended. Errors: it cannot be
// started.
Result<NightStep> run_step(const std::string& name, const std::vector<std::string>& arguments,
                           const std::filesystem::path& log);

// What stderr says of a step: with its line end.
std::string begin_text(const std::string& name, const std::filesystem::path& log);
// "run          12 s  ok", "gate          1 s  exit code 1, see n1/gate.log"
std::string step_text(const NightStep& step);

// The last lines of a log, indented, each with its line end.
std::string last_lines(const std::filesystem::path& log, std::size_t most);

// For main: where a night started this process, it ends when the night is killed. False: the night
// has ended already.
bool end_with_parent();

}  // namespace nb
