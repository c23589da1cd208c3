// The granularity test (GRIM, Brown and Heathers 2017): a share of n items is k/n for a whole k, so
// most printed digits are impossible for a small n. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "results/audit/table.hpp"

namespace nb {

// A printed score and how it follows from k right answers of n: (k/n - guessing) / (1 - guessing).
struct PrintedShare {
  double value = 0;
  double half_unit = 0;
  double guessing = 0;  // 0: the plain accuracy
};
PrintedShare share_of(const ReportedCell& cell);

// The k of n items that print as this value: k/n in doubles, or what averaging fp32 scores makes of
// it (either way of rounding a 5); empty: none.
std::vector<std::int64_t> right_answers(const PrintedShare& share, std::int64_t n);
// k that are nearest from below and above, for "4.18 is not a whole number".
double wanted_answers(const PrintedShare& share, std::int64_t n);
// Every size up to `most` of which the value is a share, at most `limit` of them.
std::vector<std::int64_t> possible_sizes(const PrintedShare& share, std::int64_t most,
                                         std::size_t limit = 8);
// Probability that an arbitrary value with these digits is a share of n items.
double chance_of_share(const PrintedShare& share, std::int64_t n);

// The one number of items per task ("--max-per-task") of which every cell of a stage is a share,
// where the full test sets are impossible and it can't be by chance; 0: there is none.
std::int64_t common_limit(const ReportedStage& stage);

}  // namespace nb
