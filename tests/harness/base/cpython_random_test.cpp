#include "harness/base/cpython_random.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/json_io.hpp"

namespace nb {
namespace {

using Indices = std::vector<std::size_t>;

Indices head(const Indices& all, std::size_t n) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}

TEST(CPythonRandom, FirstWordsAreThoseOfTheSpecification) {
  EXPECT_EQ(CPythonRandom(42).next_uint32(), 2746317213U);
  EXPECT_EQ(CPythonRandom(1337).next_uint32(), 2653228291U);
  EXPECT_EQ(CPythonRandom(1234).next_uint32(), 4150886329U);
}

TEST(CPythonRandom, ShufflesTheCoreTasksAsTheReferenceDoes) {
  EXPECT_EQ(head(CPythonRandom(1337).shuffled(10042), 4), (Indices{8547, 6745, 5202, 8796}));
  EXPECT_EQ(head(CPythonRandom(1337).shuffled(2376), 4), (Indices{1556, 952, 1988, 2351}));
  EXPECT_EQ(head(CPythonRandom(1337).shuffled(100), 4), (Indices{83, 17, 10, 9}));
  EXPECT_EQ(head(CPythonRandom(1337).shuffled(32), 4), (Indices{4, 17, 16, 0}));
}

// golden/random_streams.py ran CPython itself.
TEST(CPythonRandom, DrawsWhatCPythonDraws) {
  const Json golden =
      read_json(NB_SOURCE_DIR "/tests/golden/random_streams.json").value()["cpython"];
  ASSERT_FALSE(golden.empty());
  for (const Json& expected : golden) {
    SCOPED_TRACE("seed " + expected["seed"].dump());
    CPythonRandom random(expected["seed"].get<std::uint64_t>());
    for (int i = 0; i < 697; ++i) random.next_uint32();  // over the end of the first 624 words
    for (const Json& word : expected["words"]) EXPECT_EQ(random.next_uint32(), word);
    for (const Json& value : expected["random"]) EXPECT_EQ(random.random(), value.get<double>());
    for (const Json& pair : expected["below"])
      EXPECT_EQ(random.below(pair[0].get<std::uint64_t>()), pair[1].get<std::uint64_t>())
          << "below " << pair[0];
    EXPECT_EQ(random.shuffled(50), expected["shuffled"].get<Indices>());
    for (const Json& draw : expected["samples"])
      EXPECT_EQ(random.sample(draw[0].get<std::size_t>(), draw[1].get<std::size_t>()),
                draw[2].get<Indices>())
          << draw[0] << " " << draw[1];
  }
}

TEST(CPythonRandom, RefusesASampleLargerThanItsPopulation) {
  EXPECT_THROW(CPythonRandom(1).sample(3, 4), CheckFailure);
  EXPECT_THROW(CPythonRandom(1).below(0), CheckFailure);
}

}  // namespace
}  // namespace nb
