// How long a run's nodes took by the wall clock, from when their records say that they began and
// ended. To a second; a node that was interrupted and resumed counts its pause too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/store/store.hpp"

namespace nb {

// finished_at − started_at, s; nothing where a record does not say both.
std::optional<std::int64_t> node_seconds(const Record& record);

struct NodeTime {
  std::string kind, name;  // of all devices and seeds
  std::int64_t nodes = 0;
  std::int64_t seconds = 0;  // sum
  double share = 0;          // of all rows
};
// Longest first; nodes that do not say their times are left out. Empty: none says them.
std::vector<NodeTime> times_by_node(const RunRecords& run);

}  // namespace nb
