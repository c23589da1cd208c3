// Every target takes its seeds, and neither the inputs of corpus/ nor changed ones are findings.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "harness/base/fs.hpp"
#include "tests/fuzz/judge.hpp"
#include "tests/fuzz/mutator.hpp"
#include "tests/fuzz/target.hpp"

namespace nb::test {
namespace {

const fs::path kFolder = fs::path(NB_SOURCE_DIR) / "tests/fuzz";

// Of a target, by name.
std::vector<fs::path> corpus_files(const FuzzTarget& target) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kFolder / "corpus" / target.name, none))
    files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// NB_MUTATIONS=10000 for a long run without sanitizers.
int mutations() {
  const char* asked = std::getenv("NB_MUTATIONS");
  return asked == nullptr ? 40 : std::atoi(asked);
}

TEST(FuzzCorpus, EveryTargetTakesItsSeeds) {
  for (const FuzzTarget& target : fuzz_targets()) {
    const std::vector<std::string> seeds = target.seeds();
    EXPECT_FALSE(seeds.empty()) << target.name;
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      const Judged judged = judge(target, seeds[i]);
      EXPECT_EQ(judged.finding, "");
      EXPECT_TRUE(judged.is_taken) << target.name << ", seed " << i << ": " << judged.refusal;
    }
  }
}

// Files whose names begin with "taken_" are sound, all others are former findings.
TEST(FuzzCorpus, NoInputOfTheCorpusIsAFinding) {
  for (const FuzzTarget& target : fuzz_targets())
    for (const fs::path& file : corpus_files(target)) {
      const auto bytes = read_file(file);
      ASSERT_TRUE(bytes) << bytes.error().message;
      const Judged judged = judge(target, *bytes);
      EXPECT_EQ(judged.finding, "") << file;
      const bool is_sound = file.filename().string().starts_with("taken_");
      EXPECT_TRUE(judged.is_taken || !is_sound) << file << ": " << judged.refusal;
    }
}

TEST(FuzzCorpus, EveryFolderOfTheCorpusHasATarget) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(kFolder / "corpus"))
    EXPECT_NE(find_fuzz_target(entry.path().filename().string()), nullptr) << entry.path();
  for (const auto& entry : fs::recursive_directory_iterator(kFolder / "corpus"))
    if (entry.is_regular_file()) bytes += entry.file_size();
  EXPECT_LE(bytes, 300U * 1024);
}

struct Counts {
  std::size_t taken = 0, refused = 0;
};

// Inputs made of the target's seeds, up to its first finding.
void judge_made(const FuzzTarget& target, int rounds, Counts& counts,
                const std::function<std::string(const std::string&, std::mt19937_64&)>& make) {
  std::mt19937_64 random(23);
  for (const std::string& seed : target.seeds())
    for (int round = 0; round < rounds; ++round) {
      const std::string bytes = make(seed, random);
      const Judged judged = judge(target, bytes);
      EXPECT_EQ(judged.finding, "") << testing::PrintToString(bytes.substr(0, 2048));
      if (!judged.finding.empty()) return;
      ++(judged.is_taken ? counts.taken : counts.refused);
    }
}

TEST(FuzzCorpus, ChangedSeedsAreTakenOrRefused) {
  Counts counts;
  for (const FuzzTarget& target : fuzz_targets())
    judge_made(target, mutations(), counts, [](const std::string& seed, std::mt19937_64& random) {
      return mutated(seed, random, kLargestInput);
    });
  EXPECT_GT(counts.taken, 100U);
  EXPECT_GT(counts.refused, 100U);
}

// A parser whose time grows with the square of its input needs minutes for these.
TEST(FuzzCorpus, LongInputsTakeNoLongerThanTheirLengthExplains) {
  Counts counts;
  for (const FuzzTarget& target : fuzz_targets())
    judge_made(target, std::max(mutations() / 20, 1), counts,
               [](const std::string& seed, std::mt19937_64& random) {
                 return grown(seed, random, kLargestInput);
               });
  EXPECT_GT(counts.taken, 10U);
}

// What stands behind the last separator is empty: the mutator once repeated that for ever.
TEST(FuzzCorpus, GrowingEndsAlsoWhereNothingIsLeftToRepeat) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round)
    for (const char* text : {"a\n", "\n", "a,b\n", " "})
      EXPECT_LE(grown(text, random, 1000).size(), 1010U);
}

TEST(FuzzCorpus, TheTableOfTheReadmeIsThatOfTheTargets) {
  const auto readme = read_file(kFolder / "README.md");
  ASSERT_TRUE(readme);
  std::string rows;
  for (const FuzzTarget& target : fuzz_targets())
    rows += fmt::format("| `{}` | {} | {} |\n", target.name, target.reads, target.seal);
  EXPECT_NE(readme->find(rows), std::string::npos) << "the README's table should be:\n" << rows;
}

}  // namespace
}  // namespace nb::test
