#include "harness/base/numpy_random.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"

namespace nb {
namespace {

using Indices = std::vector<std::size_t>;

TEST(NumpyRandom, FirstUniformOfSeed42IsTheSpecifications) {
  EXPECT_EQ(NumpyRandom(42).random(), 0.7739560485559633);
}

TEST(NumpyRandom, PermutesAsDatasetShuffleDoes) {
  const std::vector<std::pair<std::size_t, Indices>> golden = {
      {10, {5, 6, 0, 7, 3, 2, 4, 9, 1, 8}},
      {164, {52, 134, 51, 66, 147, 101, 24, 125}},
      {1172, {771, 1124, 636, 340, 696, 831, 684, 116}},
      {7473, {3082, 2184, 5897, 2437, 6330, 819, 3812, 5878}},
      {460341, {21697, 61600, 155055, 325090, 320249, 306258, 166388, 113198}}};
  for (const auto& [n, first] : golden) {
    Indices order = NumpyRandom(42).permutation(n);
    order.resize(first.size());
    EXPECT_EQ(order, first) << n;
  }
}

// golden/random_streams.py ran numpy itself.
TEST(NumpyRandom, DrawsWhatNumpyDraws) {
  const Json golden = read_json(NB_SOURCE_DIR "/tests/golden/random_streams.json").value()["numpy"];
  ASSERT_FALSE(golden.empty());
  for (const Json& expected : golden) {
    SCOPED_TRACE("seed " + expected["seed"].dump());
    NumpyRandom random(expected["seed"].get<std::uint64_t>());
    for (const Json& value : expected["random"]) EXPECT_EQ(random.random(), value.get<double>());
    EXPECT_EQ(random.permutation(37), expected["permutation"].get<Indices>());
    EXPECT_EQ(random.next_uint64(), expected["then"].get<std::uint64_t>());
  }
}

TEST(NumpyRandom, EmptyAndSinglePermutationsExist) {
  EXPECT_TRUE(NumpyRandom(1).permutation(0).empty());
  EXPECT_EQ(NumpyRandom(1).permutation(1), Indices{0});
}

}  // namespace
}  // namespace nb
