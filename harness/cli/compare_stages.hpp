// `npubench compare stages RUN A B`: did a later stage help?
#pragma once

#include <string>
#include <vector>

#include "results/store/store.hpp"

namespace nb::cli {

struct StageOptions {
  std::vector<std::string> stages;   // two
  std::vector<std::string> metrics;  // these alone; empty: all
};
// What stage_gain.hpp says. Returns the exit code: 1 where the later stage is worse in anything, 3
// where nothing can be compared.
int compare_stages(const RunRecords& run, const StageOptions& options, bool json);

}  // namespace nb::cli
