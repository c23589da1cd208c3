// Differences of metrics of one pair of records and over seeds. For compare.cpp only.
#pragma once

#include <string>
#include <vector>

#include "results/compare.hpp"

namespace nb {

// Every metric of either side; damaged items files are added to `damaged` and named in the note.
std::vector<MetricDifference> metric_differences(const StoredRecord& a, const StoredRecord& b,
                                                 std::vector<std::string>& damaged);
std::vector<SeedDifference> seed_differences(const std::vector<RecordPair>& pairs);

}  // namespace nb
