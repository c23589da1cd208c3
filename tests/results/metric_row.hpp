// A metric of a compared pair, for tests of comparisons.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "results/compare/compare.hpp"

namespace nb::test {

// The row of that name, which must be there.
inline const MetricDifference& metric(const RecordPair& pair, const std::string& name) {
  const auto at = std::find_if(pair.metrics.begin(), pair.metrics.end(),
                               [&](const auto& row) { return row.name == name; });
  EXPECT_NE(at, pair.metrics.end()) << name;
  return *at;
}

}  // namespace nb::test
