// What is in the records below a folder of runs, found without reading them again: a cache in
// <folder>/.index.sqlite that every reader brings up to date by the records' file stamps. Records
// stay the truth: a missing, stale, foreign or damaged index is made anew from them.
//
// No locks: a reader has the whole file in memory, changes it there and writes a new one that is
// renamed over the old (fs.hpp). Of readers at the same time the last one's file stays; what it
// lacks its next reader adds. A kill leaves the old file or the new. Writers of runs never touch
// it. The file is an SQLite database followed by one line with its SHA-256. About 100 bytes a
// metric, all in memory. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "results/store/record.hpp"
#include "results/store/run_tree.hpp"

namespace nb {

inline constexpr const char* kIndexFile = ".index.sqlite";

// A record without its metrics.
struct IndexedRecord {
  std::int64_t id = 0;
  std::string run, node;  // RunFolder::name and RunNode::name
  std::string damage;     // why it cannot be read, as a sentence; all below is empty then
  std::string status, error, kind, name, node_key, device, trained_on, finished_at;
  std::optional<std::int64_t> seed;
  std::string code;      // digest of the code that made it; empty: not said
  std::string settings;  // digest of its settings but the seed
  std::string machine;   // "AMD EPYC 9654, 2 cores, x86_64, g++ 12.2, avx512, 2 threads"
  bool is_listed = true;
};

struct IndexedMetric {
  std::int64_t record = 0;  // IndexedRecord::id
  Metric metric;
  std::string comparability;  // digest of what must be equal to compare it
};

struct MetricSummary {
  std::string name, unit, clock;
  std::int64_t records = 0, runs = 0;
  std::string last;  // newest finished_at
};

class RunIndex {
 public:
  // kRebuild reads every record. Of a folder that is a run itself the index stays in memory: no run
  // folder is written to. An error: the folder cannot be read.
  enum class Mode { kUpdate, kRebuild };
  static Result<RunIndex> open(const std::filesystem::path& folder, Mode mode = Mode::kUpdate);
  RunIndex(RunIndex&&) noexcept;
  RunIndex& operator=(RunIndex&&) noexcept;
  ~RunIndex();

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<RunFolder>& runs() const { return runs_; }  // as they were when it was opened
  // One sentence each: the index was damaged, or could not be written.
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t records_read() const { return records_read_; }  // not known before, or changed
  std::uint64_t file_bytes() const { return file_bytes_; }    // 0: nothing was written

  std::vector<IndexedRecord> records() const;                             // by run and node
  std::vector<MetricSummary> metrics(const std::string& run = "") const;  // all runs; by name
  std::vector<IndexedMetric> metric(std::string_view name) const;

 private:
  struct State;
  RunIndex();
  void update();
  void keep();

  std::filesystem::path folder_;
  std::vector<RunFolder> runs_;
  std::vector<std::string> notes_;
  std::size_t records_read_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace nb
