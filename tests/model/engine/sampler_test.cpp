#include "model/engine/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<int> tokens_over_u(const std::vector<float>& logits, const SamplingRule& rule,
                               int steps = 1000) {
  std::vector<int> tokens;
  for (int i = 0; i < steps; ++i) tokens.push_back(sample_token(logits, rule, i / double(steps)));
  return tokens;
}
std::map<int, double> shares_over_u(const std::vector<float>& logits, const SamplingRule& rule) {
  std::map<int, double> shares;
  for (const int token : tokens_over_u(logits, rule)) shares[token] += 0.001;
  return shares;
}

TEST(FirstLargest, LowestIdOfEqualsAndNeverNan) {
  EXPECT_EQ(first_largest(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(first_largest(std::vector<float>{kNan, -kInf, kNan}), 1);
  EXPECT_EQ(first_largest(std::vector<float>{kNan, kNan}), 0);
  EXPECT_EQ(first_largest(std::vector<float>{-0.0F, 0.0F}), 0);
  EXPECT_EQ(first_largest({}), 0);
  for (const std::size_t size : {15U, 16U, 33U, 100U}) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<float> logits(size, -3.0F);
      logits[size - 1] = logits[at] = -2.0F;
      if (at > 0) logits[at - 1] = kNan;
      EXPECT_EQ(first_largest(logits), static_cast<int>(at)) << size;
    }
  }
}

TEST(SampleToken, TemperatureZeroIsGreedyWhateverElse) {
  const std::vector<float> logits = {0, 2, 2, 1};
  for (const double u : {0.0, 0.5, 0.999}) {
    EXPECT_EQ(sample_token(logits, {.temperature = 0}, u), 1);
    EXPECT_EQ(sample_token(logits, {.temperature = 0, .top_k = 3}, u), 1);
  }
}

// Softmax worked out by hand: weights 1, 3, 4 of 8 in the order of the ids.
TEST(SampleToken, TakesTokensInProportionIdsAscending) {
  const float unit = std::log(2.0F);
  const std::vector<float> logits = {0, std::log(3.0F), 2 * unit};
  const auto shares = shares_over_u(logits, {.temperature = 1});
  EXPECT_NEAR(shares.at(0), 1 / 8.0, 0.0015);
  EXPECT_NEAR(shares.at(1), 3 / 8.0, 0.0015);
  EXPECT_NEAR(shares.at(2), 4 / 8.0, 0.0015);
  const auto tokens = tokens_over_u(logits, {.temperature = 1});
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  // Temperature 0.5 squares the weights: 1, 9, 16 of 26; 2 takes roots: 1, √3, 2.
  EXPECT_NEAR(shares_over_u(logits, {.temperature = 0.5}).at(1), 9 / 26.0, 0.0015);
  EXPECT_NEAR(shares_over_u(logits, {.temperature = 2}).at(1),
              std::sqrt(3.0) / (3 + std::sqrt(3.0)), 0.0015);
}

// Token k has [k/4, (k+1)/4): its beginning is its own, its end the next one's.
TEST(SampleToken, ABorderBelongsToTheTokenBehindIt) {
  const std::vector<float> equals = {5, 5, 5, 5};
  for (int k = 0; k < 4; ++k) EXPECT_EQ(sample_token(equals, {.temperature = 1}, k / 4.0), k);
}

TEST(SampleToken, TopKKeepsTheLargestAndOfEqualsTheLowestIds) {
  const std::vector<float> logits = {1, 5, 2, 5, 5, 2};
  const auto allowed = [&](int k) {
    std::vector<int> ids;
    for (const auto& [id, share] : shares_over_u(logits, {.temperature = 1, .top_k = k}))
      ids.push_back(id);
    return ids;
  };
  EXPECT_EQ(allowed(1), (std::vector<int>{1}));
  EXPECT_EQ(allowed(2), (std::vector<int>{1, 3}));
  EXPECT_EQ(allowed(4), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(allowed(5), (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(allowed(6).size(), 6U);
  EXPECT_EQ(tokens_over_u(logits, {.temperature = 1, .top_k = 6}),
            tokens_over_u(logits, {.temperature = 1}));
  EXPECT_EQ(tokens_over_u(logits, {.temperature = 1, .top_k = 99}),
            tokens_over_u(logits, {.temperature = 1}));
}

TEST(SampleToken, ExtremesAreNoTrouble) {
  const SamplingRule rule = {.temperature = 1};
  EXPECT_EQ(shares_over_u({-kInf, 4, -kInf}, rule).size(), 1U);
  EXPECT_EQ(shares_over_u({kNan, 0, 0}, rule).count(0), 0U);
  EXPECT_EQ(shares_over_u({kNan, 0, kNan}, {.temperature = 1, .top_k = 2}).size(), 1U);
  EXPECT_EQ(sample_token(std::vector<float>{kNan, kNan}, rule, 0.5), 0);
  EXPECT_EQ(sample_token(std::vector<float>{kNan, kNan}, {.temperature = 1, .top_k = 1}, 0.5), 0);
  const SamplingRule cold = {.temperature = 1e-300};
  EXPECT_EQ(shares_over_u({1, 3, 2}, cold), shares_over_u({1, 3, 2}, {.temperature = 0}));
  EXPECT_EQ(sample_token(std::vector<float>{7}, rule, std::nextafter(1.0, 0.0)), 0);
  EXPECT_THROW(sample_token({}, rule, 0), CheckFailure);
  EXPECT_THROW(sample_token(std::vector<float>{1}, {.temperature = 1, .top_k = 0}, 0),
               CheckFailure);
}

TEST(SampleRandom, IsAFunctionOfSeedSampleAndToken) {
  const SampleRandom a(42, 3), same(42, 3), other_sample(42, 4), other_seed(43, 3);
  EXPECT_EQ(a.uniform(7), same.uniform(7));
  EXPECT_NE(a.uniform(7), a.uniform(8));
  EXPECT_NE(a.uniform(7), other_sample.uniform(7));
  EXPECT_NE(a.uniform(7), other_seed.uniform(7));
}

}  // namespace
}  // namespace nb
