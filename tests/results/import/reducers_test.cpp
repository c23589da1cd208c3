// Values by Python: statistics.median, collections.Counter.most_common, math.comb.
#include "results/import/reducers.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nb {
namespace {

TEST(Reducers, AsInspectAiHasThem) {
  const std::vector<double> values = {0, 1, 0.5, 1};
  EXPECT_DOUBLE_EQ(*reduced("", values), 0.625);
  EXPECT_DOUBLE_EQ(*reduced("median", values), 0.75);
  EXPECT_DOUBLE_EQ(*reduced("mode", values), 1);
  EXPECT_DOUBLE_EQ(*reduced("mode", std::vector<double>{0, 1, 0.5}), 0);  // the first of equals
  EXPECT_DOUBLE_EQ(*reduced("max", values), 1);
  EXPECT_DOUBLE_EQ(*reduced("at_least_2", values), 1);
  EXPECT_DOUBLE_EQ(*reduced("at_least_3", values), 0);
  EXPECT_DOUBLE_EQ(*reduced("pass_at_2", values), 1 - 1.0 / 6);  // 1 − C(2, 2)/C(4, 2)
  EXPECT_DOUBLE_EQ(*reduced("pass_at_3", values), 1);
  EXPECT_DOUBLE_EQ(*reduced("pass_k_2", values), 1.0 / 6);
  EXPECT_EQ(reduced("pass_at_5", values), std::nullopt);
}

TEST(Reducers, OthersAreNotKnown) {
  for (const char* name : {"collect", "at_least", "at_least_", "at_least_0", "pass_at_x", "Max"})
    EXPECT_FALSE(is_known_reducer(name)) << name;
  for (const char* name : {"", "mean", "pass_k_4"}) EXPECT_TRUE(is_known_reducer(name)) << name;
}

}  // namespace
}  // namespace nb
