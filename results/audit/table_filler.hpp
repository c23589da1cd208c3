// Adds cells to a table that is being read, and finds them by name at once: a file may have 100,000
// rows, or as many columns. Nothing else adds runs, stages or cells meanwhile. The table outlives
// it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "results/audit/table.hpp"

namespace nb {

class TableFiller {
 public:
  explicit TableFiller(ReportedTable& table);

  struct Place {
    std::size_t run = 0, stage = 0;
  };
  // The stage of that run, both made on first use.
  Place place(const std::string& run, const std::string& stage);
  ReportedRun& run(Place at) { return table_.runs[at.run]; }
  ReportedStage& stage(Place at) { return table_.runs[at.run].stages[at.stage]; }
  // nullptr: not there. Both hold until the next call of place() or add().
  const ReportedCell* find(Place at, const std::string& task) const;
  void add(Place at, ReportedCell cell);

 private:
  struct StageIndex {
    std::unordered_map<std::string, std::size_t> cells;
  };
  struct RunIndex {
    std::map<std::string, std::size_t> stages;
    std::vector<StageIndex> index;  // of each
  };
  void know(std::size_t run, std::size_t stage);

  ReportedTable& table_;
  std::unordered_map<std::string, std::size_t> runs_;
  std::vector<RunIndex> index_;  // of each run
};

}  // namespace nb
