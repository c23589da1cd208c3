// Run folders below a folder, however deep: results/runs/<suite>, or nights/<date>/<suite>. Reads
// folder names and run.json, stats records, opens none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

// Tells a file from what it was before: a record that is written anew has another inode, one that
// is edited another time.
struct FileStamp {
  std::int64_t modified_ns = 0, changed_ns = 0, size_bytes = 0, inode = 0;
  bool operator==(const FileStamp&) const = default;
};
std::optional<FileStamp> stamp_of(const std::filesystem::path& file);  // empty: no such file

struct RunNode {
  std::string name;                 // folder in the run folder; "": the run folder itself
  std::optional<FileStamp> record;  // empty: unfinished
  bool is_listed = true;            // by run.json; without that file every node is
};

struct RunFolder {
  std::filesystem::path path;
  std::string name;  // relative to the folder that was searched; of that folder its own name
  std::vector<RunNode> nodes;  // sorted by name
  bool has_list = false;       // run.json: nodes that it does not list are of earlier runs
  std::string damage;          // a run.json that cannot be read, as a sentence
  std::string kept_by;         // "accepted.json", "golden.json": never removed; empty: none

  std::filesystem::path folder_of(const RunNode& node) const;
};

// Sorted by name. A folder without any run: an empty list; an unreadable or missing one: an error.
// Hidden folders are left out, a folder behind several links is found once.
Result<std::vector<RunFolder>> find_runs(const std::filesystem::path& folder);

// Bytes of all files below; what vanishes meanwhile counts nothing.
std::uint64_t folder_bytes(const std::filesystem::path& folder);

// Nights of one sequence have names that differ in digits only: the run folder's own name with
// every group of digits as "#". "nights/2026-11-24/nightly": "nightly"; "nights/2026-11-24":
// "#-#-#".
std::string sequence_of(const std::filesystem::path& run);

}  // namespace nb
