// Every target takes its seeds, and neither the inputs of corpus/ nor changed ones are findings.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

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

// Of one target, up to its first finding.
void changed_are_no_findings(const FuzzTarget& target, std::size_t& taken, std::size_t& refused) {
  for (const std::string& seed : target.seeds()) {
    std::mt19937_64 random(23);
    for (int round = 0; round < mutations(); ++round) {
      const std::string bytes = mutated(seed, random, kLargestInput);
      const Judged judged = judge(target, bytes);
      EXPECT_EQ(judged.finding, "") << testing::PrintToString(bytes.substr(0, 4096));
      if (!judged.finding.empty()) return;
      ++(judged.is_taken ? taken : refused);
    }
  }
}

TEST(FuzzCorpus, ChangedSeedsAreTakenOrRefused) {
  std::size_t taken = 0, refused = 0;
  for (const FuzzTarget& target : fuzz_targets()) changed_are_no_findings(target, taken, refused);
  EXPECT_GT(taken, 100U);
  EXPECT_GT(refused, 100U);
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
