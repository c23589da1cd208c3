// A run folder in one line, from the index: for lists of runs and for those that remove them.
// Plain values; nothing is read but the index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/table.hpp"
#include "results/store/index.hpp"

namespace nb {

struct ListedRun {
  std::string name;  // RunFolder::name
  std::filesystem::path path;
  std::string when;  // UTC: when its newest record finished, else when that file was written
  // Of the plan that ran last: nodes with a readable record, and of these the failed ones; nodes
  // without a record; of earlier plans: records that run.json does not list.
  std::int64_t records = 0, failed = 0, unfinished = 0, earlier = 0;
  std::vector<std::string> devices;  // sorted
  std::vector<std::string> damage;   // one sentence each: what cannot be read
  std::string kept_by;               // RunFolder::kept_by
};

// Newest first; those of one time by name.
std::vector<ListedRun> listed_runs(const RunIndex& index);

// "ok", "2 failed, 1 unfinished", "1 damaged", "empty".
std::string status_text(const ListedRun& run);
TextTable runs_table(std::span<const ListedRun> runs);
Json run_json(const ListedRun& run);

// "2026-11-21T17:05:00Z" as people read it: "2026-11-21 17:05"; another text as it is.
std::string short_time(const std::string& when);

}  // namespace nb
