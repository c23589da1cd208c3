// Differences of metrics of one pair of records and over seeds. For compare.cpp only.
#pragma once

#include <string>
#include <vector>

#include "results/compare/compare.hpp"

namespace nb {

// Fills metrics, items and changed_metrics of a pair whose other fields are set; damaged items
// files are added to `damaged` and named in the note of the row.
void add_metrics(RecordPair& pair, std::vector<std::string>& damaged);
// Groups over seeds: of the pairs, and of nodes whose seeds do not match.
std::vector<SeedDifference> seed_differences(const std::vector<RecordPair>& pairs,
                                             const std::vector<UnmatchedSeeds>& unmatched);

}  // namespace nb
