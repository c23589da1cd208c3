// What several verbs share: options of suites and folders, output, errors.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/cli/options.hpp"
#include "harness/plan/plan.hpp"
#include "harness/run/runner.hpp"
#include "harness/suite/suite.hpp"

namespace nb::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitIncomparable = 3;
inline constexpr int kExitRun = static_cast<int>(ErrorCode::kRun);
inline constexpr int kExitUsage = static_cast<int>(ErrorCode::kBadInput);

// "npubench: <message>" on stderr; returns the exit code.
int fail(const Error& error);
// One JSON document on stdout; returns kExitOk.
int print_json(const Json& json);

// As JSON: one line in which blanks and line ends can be seen.
std::string quoted(const std::string& text);

// After what could be shown of runs: 4, and on stderr how many of their nodes could not, or
// kExitOk.
int fail_for_damaged(const std::vector<std::string>& damaged);

// Two paths of runs lead to one file or folder, or are one published table.
bool is_same_run(const std::string& a, const std::string& b);

// --threads, --simd and --host-fusion: for every verb that computes. main applies them before the
// verb's action runs; child processes get the level through NPUBENCH_SIMD.
void add_compute_options(CLI::App& app);
// Of any verb: without the options NPUBENCH_SIMD or the best level, and every core. A level that is
// unknown or not available: bad_input with the list of those that are.
Result<void> apply_compute_options(const CLI::App& app);
// "npubench 0.1.0", then the level in use and the others with what keeps them away.
std::string version_text();

// A number from low to high, for CLI::Option::check; not NaN, which CLI11's Range lets pass.
CLI::Validator within(double low, double high);

// A whole number of a flag, for CLI::Option::check. CLI11 alone takes "-1" for the largest seed and
// cuts what is too large.
CLI::Validator whole(std::int64_t low,
                     std::int64_t high = std::numeric_limits<std::int64_t>::max());
CLI::Validator whole_seed();  // 0 … 2^64 - 1

// What a flag for a field takes, in help: "INT", "FLOAT", "on|off" or "TEXT".
std::string value_name(const Field& field);

struct SuiteOptions {
  std::string file;
  std::vector<std::string> sets;    // /pointer=value
  std::vector<std::string> faults;  // second_best:mw/facts
  std::string results_dir;
  std::string data_dir;
  std::string node;  // key or name
  bool fresh = false;
  bool json = false;
};
void add_suite_options(CLI::App& app, SuiteOptions& options);

// The suite's plan and where it runs.
struct Planned {
  Suite suite;
  Plan plan;
  RunOptions options;
};
// finished: trainings of an earlier run that evaluations may look at again.
Result<Planned> make_planned(const SuiteOptions& options,
                             std::vector<FinishedTraining> finished = {});

}  // namespace nb::cli
