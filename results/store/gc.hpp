// Which old nights of a folder of runs may go, and removing them. What stays is named with its
// reason: whatever was accepted or is judged against, cannot be read, is being worked on, or is
// among the newest of its sequence.
//
// A run is first renamed into <folder>/.removed, looked at once more there (somebody may have
// accepted it meanwhile: then it goes back) and only then deleted; a kill at any moment leaves a
// whole run, in its place or in .removed, or the rest of one that was to go. The next removal
// finishes. One process at a time removes (flock on .removed); readers and writers of runs wait for
// nobody.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/store/index.hpp"

namespace nb {

inline constexpr const char* kRemovedFolder = ".removed";

struct GcRun {
  std::string name;  // RunFolder::name
  std::filesystem::path path;
  std::string when;   // ListedRun::when
  std::string keeps;  // why it stays; empty: it goes
};

// What is renamed at once: a run, or the folder of a night of which nothing else would be left but
// what npubench nightly writes beside its runs.
struct GcTarget {
  std::string name;               // relative to the plan's folder
  std::vector<std::string> runs;  // RunFolder::name of all that are in it
  std::uint64_t bytes = 0;
};

struct GcPlan {
  std::filesystem::path folder;
  std::vector<GcRun> runs;        // newest first
  std::vector<GcTarget> targets;  // by name
  bool has_leftovers = false;     // in .removed, of a removal that was interrupted
  std::uint64_t leftover_bytes = 0;
  std::vector<std::string> notes;  // one sentence each
};

// keep_last: nights that stay of every sequence, besides those that stay for another reason; at
// least 1. Nights of one sequence have paths that differ in digits only: nights/2026-11-24/smoke.
Result<GcPlan> plan_gc(const RunIndex& index, std::size_t keep_last);

struct GcDone {
  std::vector<std::string> removed;   // names of targets
  std::vector<std::string> put_back;  // one sentence each: what was to go and stays after all
  std::vector<std::string> failures;  // one sentence each: what could not be moved or deleted
};
// An error: another process is removing there, or .removed cannot be made.
Result<GcDone> remove_planned(const GcPlan& plan);

}  // namespace nb
