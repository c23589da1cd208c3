#include "harness/base/portable_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"

namespace nb {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Point {
  double x = 0;
  double y = 0;  // second argument of pow
  double high = 0;
  double low = 0;  // exact value = high + low
};

// golden/portable_math.py computed these with decimal arithmetic.
std::vector<Point> points_of(const std::string& name) {
  std::istringstream text(read_file(NB_SOURCE_DIR "/tests/golden/portable_math.txt").value());
  std::vector<Point> points;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string function;
    words >> function;
    if (function != name) continue;
    std::vector<double> numbers;
    for (std::string word; words >> word;) numbers.push_back(std::strtod(word.c_str(), nullptr));
    const bool is_binary = numbers.size() == 4;
    points.push_back({numbers[0], is_binary ? numbers[1] : 0, numbers[is_binary ? 2 : 1],
                      numbers[is_binary ? 3 : 2]});
  }
  return points;
}

double difference(double got, const Point& p) { return std::abs((got - p.high) - p.low); }

double ulp_of(double exact) {
  const double size = std::abs(exact);
  if (size < 0x1p-1022) return 0x1p-1074;
  return std::ldexp(1.0, std::ilogb(size) - 52);
}

struct UlpCase {
  const char* name;
  double (*function)(double);
  double allowed_ulp;
};
class PortableMathUlp : public testing::TestWithParam<UlpCase> {};

TEST_P(PortableMathUlp, StaysWithinItsStatedError) {
  const std::vector<Point> points = points_of(GetParam().name);
  ASSERT_GT(points.size(), 20U);
  double worst = 0;
  for (const Point& p : points) {
    const double got = GetParam().function(p.x);
    const double error = difference(got, p) / ulp_of(p.high);
    EXPECT_LE(error, GetParam().allowed_ulp)
        << GetParam().name << "(" << p.x << ") = " << got << ", exact " << p.high;
    worst = std::max(worst, error);
  }
  RecordProperty("worst_ulp", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(All, PortableMathUlp,
                         testing::Values(UlpCase{"exp", pm::exp, 1}, UlpCase{"expm1", pm::expm1, 2},
                                         UlpCase{"log", pm::log, 1}, UlpCase{"log1p", pm::log1p, 2},
                                         UlpCase{"log2", pm::log2, 2}, UlpCase{"sin", pm::sin, 1},
                                         UlpCase{"cos", pm::cos, 1}, UlpCase{"tanh", pm::tanh, 2}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PortableMath, PowIsWithinItsStatedRelativeError) {
  const std::vector<Point> points = points_of("pow");
  ASSERT_GT(points.size(), 50U);
  for (const Point& p : points)
    EXPECT_LE(difference(pm::pow(p.x, p.y), p), 1e-14 * p.high + 0x1p-1074)
        << "pow(" << p.x << ", " << p.y << ")";
}

TEST(PortableMath, PowOfIntegersIsExact) {
  EXPECT_EQ(pm::pow(10, 3), 1000);
  EXPECT_EQ(pm::pow(3, 33), 5559060566555523.0);
  EXPECT_EQ(pm::pow(2, -3), 0.125);
  EXPECT_EQ(pm::pow(2, 1000), 0x1p1000);
  EXPECT_EQ(pm::pow(-2, 3), -8);
  EXPECT_EQ(pm::pow(-2, 101), -0x1p101);
  EXPECT_EQ(pm::pow(7, 0), 1);
}

TEST(PortableMath, LgammaIsWithinItsStatedError) {
  for (const Point& p : points_of("lgamma"))
    EXPECT_LE(difference(pm::lgamma(p.x), p), 1e-13 * std::max(1.0, std::abs(p.high))) << p.x;
}

TEST(PortableMath, ErfIsWithinItsStatedError) {
  for (const Point& p : points_of("erf")) EXPECT_LE(difference(pm::erf(p.x), p), 1e-14) << p.x;
}

TEST(PortableMath, NormalCdfKeepsRelativeAccuracyInTheLowerTail) {
  for (const Point& p : points_of("normal_cdf"))
    EXPECT_LE(difference(pm::normal_cdf(p.x), p), 1e-14 * p.high) << p.x;
}

TEST(PortableMath, NormalQuantileMeetsItsProbability) {
  for (const Point& p : points_of("normal_quantile")) {
    // |Φ(q) − p| = |q − exact| · φ(exact), to first order.
    const double density = 0.3989422804014327 * std::exp(-p.high * p.high / 2);
    EXPECT_LE(difference(pm::normal_quantile(p.x), p) * density, 1e-14) << p.x;
  }
  EXPECT_EQ(pm::normal_quantile(0.5), 0);
  EXPECT_EQ(pm::normal_quantile(0.25), -pm::normal_quantile(0.75));
}

TEST(PortableMath, EdgesAreThoseOfIeee) {
  EXPECT_EQ(pm::exp(-kInf), 0);
  EXPECT_EQ(pm::exp(kInf), kInf);
  EXPECT_EQ(pm::exp(710), kInf);
  EXPECT_EQ(pm::exp(-746), 0);
  EXPECT_EQ(pm::exp(0), 1);
  EXPECT_EQ(pm::expm1(-kInf), -1);
  EXPECT_EQ(pm::log(0), -kInf);
  EXPECT_EQ(pm::log(1), 0);
  EXPECT_EQ(pm::log(kInf), kInf);
  EXPECT_TRUE(std::isnan(pm::log(-1)));
  EXPECT_EQ(pm::log1p(-1), -kInf);
  EXPECT_EQ(pm::log2(8), 3);
  EXPECT_EQ(pm::log2(0x1p-1074), -1074);
  EXPECT_TRUE(std::signbit(pm::sin(-0.0)));
  EXPECT_TRUE(std::isnan(pm::cos(kInf)));
  EXPECT_THROW(pm::sin(2e5), CheckFailure);
  EXPECT_EQ(pm::tanh(kInf), 1);
  EXPECT_EQ(pm::tanh(-kInf), -1);
  EXPECT_EQ(pm::pow(0, 2.5), 0);
  EXPECT_EQ(pm::pow(0, -0.5), kInf);
  EXPECT_EQ(pm::pow(2, 1e9), kInf);
  EXPECT_EQ(pm::pow(0.5, kInf), 0);
  EXPECT_TRUE(std::isnan(pm::pow(-2, 0.5)));
  EXPECT_EQ(pm::lgamma(1), 0);
  EXPECT_TRUE(std::isnan(pm::lgamma(0)));
  EXPECT_EQ(pm::erf(kInf), 1);
  EXPECT_EQ(pm::normal_cdf(kInf), 1);
  EXPECT_EQ(pm::normal_cdf(-kInf), 0);
  EXPECT_EQ(pm::normal_quantile(0), -kInf);
  EXPECT_TRUE(std::isnan(pm::normal_quantile(1.5)));
}

TEST(PortableMath, NanGoesThrough) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto function :
       {pm::exp, pm::expm1, pm::log, pm::log1p, pm::log2, pm::sin, pm::cos, pm::tanh, pm::sqrt,
        pm::lgamma, pm::erf, pm::normal_cdf, pm::normal_quantile})
    EXPECT_TRUE(std::isnan(function(nan)));
  EXPECT_TRUE(std::isnan(pm::pow(nan, 2)));
  EXPECT_TRUE(std::isnan(pm::pow(2, nan)));
}

}  // namespace
}  // namespace nb
