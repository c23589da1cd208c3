#include "results/stats/stats_walked.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/base/rng.hpp"

namespace nb {
namespace {

WalkedValues in_pieces(const std::vector<double>& values) {
  return {values.size(), [&values](const TakeValues& take) {
            const std::span<const double> all = values;
            for (std::size_t at = 0; at < all.size(); at += 1000)
              take(all.subspan(at, std::min<std::size_t>(1000, all.size() - at)));
          }};
}

// Of several shapes: normal, few different values, all equal, tiny and huge of both signs, zeros of
// both signs.
std::vector<std::vector<double>> samples() {
  std::vector<std::vector<double>> all;
  for (const std::size_t size : {2, 3, 100, 4096, 4097, 9999, 20000}) {
    const Rng rng(5, "walked", size);
    std::vector<double> normal, few, wide, zeros;
    for (std::uint64_t i = 0; i < size; ++i) {
      normal.push_back(rng.normal(i));
      few.push_back(double(rng.uniform(i) < .3) - double(rng.uniform(i) > .9));
      wide.push_back((i % 2 == 0 ? 1e-300 : -1e300) * rng.uniform(i));
      zeros.push_back(i % 3 == 0 ? -0.0 : 0.0);
    }
    all.insert(all.end(), {normal, few, wide, zeros, std::vector<double>(size, .1)});
  }
  return all;
}

TEST(WalkedStatistics, AreThoseOfTheVectorToTheLastBit) {
  for (const std::vector<double>& values : samples()) {
    const WalkedValues walked = in_pieces(values);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(mean(walked), mean(values));
    EXPECT_EQ(sample_sd(walked), sample_sd(values));
    EXPECT_EQ(median(walked), median(values)) << values.size();
    for (const double p : {0.0, 1e-4, .25, .5, .9, .999, 1.0})
      EXPECT_EQ(quantile(walked, p), sorted_quantile(sorted, p)) << values.size() << " " << p;
  }
}

TEST(WalkedStatistics, ManyEqualValuesAmongOthersAreFoundAtTheirEnds) {
  std::vector<double> values(10000, 2.0);
  values.resize(10001, 1.0);
  values.resize(20001, 3.0);  // 1, 10,000 twos, 10,000 threes
  EXPECT_EQ(median(in_pieces(values)), 2.0) << "rank 10000 is the last 2";
  values.push_back(3.0);
  EXPECT_EQ(median(in_pieces(values)), 2.5);
}

}  // namespace
}  // namespace nb
