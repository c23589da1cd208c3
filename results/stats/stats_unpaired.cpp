#include "results/stats/stats_unpaired.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

double variance(double p, std::int64_t n) { return p * (1 - p) / static_cast<double>(n); }

}  // namespace

UnpairedTest unpaired_shares(double a, std::int64_t n_a, double b, std::int64_t n_b) {
  NB_CHECK(n_a >= 1 && n_b >= 1 && a >= 0 && a <= 1 && b >= 0 && b <= 1,
           "[unpaired] shares {} of {} and {} of {}", a, n_a, b, n_b);
  UnpairedTest test;
  test.difference = b - a;
  test.standard_error = pm::sqrt(variance(a, n_a) + variance(b, n_b));
  test.interval95 = {test.difference - kZ95 * test.standard_error,
                     test.difference + kZ95 * test.standard_error};
  const double size_a = static_cast<double>(n_a), size_b = static_cast<double>(n_b);
  const double pooled = (a * size_a + b * size_b) / (size_a + size_b);
  const double spread = pm::sqrt(variance(pooled, n_a) + variance(pooled, n_b));
  if (spread > 0) {
    test.z = test.difference / spread;
    test.p_two_sided = std::min(1.0, 2 * pm::normal_cdf(-std::fabs(test.z)));
  }
  return test;
}

Interval wilson_of_share(double share, std::int64_t n, double z) {
  const double size = static_cast<double>(n), z2 = z * z;
  const double centre = (share + z2 / (2 * size)) / (1 + z2 / size);
  const double half =
      z * pm::sqrt(share * (1 - share) / size + z2 / (4 * size * size)) / (1 + z2 / size);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

Interval newcombe_unpaired(double a, std::int64_t n_a, double b, std::int64_t n_b, double z) {
  NB_CHECK(n_a >= 1 && n_b >= 1, "[unpaired] {} and {} items", n_a, n_b);
  const Interval of_a = wilson_of_share(a, n_a, z), of_b = wilson_of_share(b, n_b, z);
  const double difference = b - a;
  const auto length = [](double x, double y) { return pm::sqrt(x * x + y * y); };
  return {difference - length(b - of_b.low, of_a.high - a),
          difference + length(of_b.high - b, a - of_a.low)};
}

}  // namespace nb
