// `npubench compare stages RUN A B`: did a later stage help?
#pragma once

#include <string>
#include <vector>

#include "results/store/store.hpp"

namespace nb::cli {

struct StageOptions {
  std::vector<std::string> stages;   // two
  std::vector<std::string> metrics;  // of records of ours: these alone; empty: all
};
// Of records of ours paired by seed (stage_gain.hpp); of a report card, a published or
// a CSV table, which have no items, by unpaired tests (compare_tables.hpp). Returns the exit code:
// 1 where the later stage is worse in anything, 3 where nothing can be compared.
int compare_stages(const std::string& path, const RunRecords& run, const StageOptions& options,
                   bool json);

}  // namespace nb::cli
