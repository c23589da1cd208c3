// One digest of the metrics for every instruction set, thread count and evaluation batch size, on
// this host and on those where it was committed.
#include "tests/e2e/digests.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "harness/base/fs.hpp"
#include "model/kernels/simd_level.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

namespace fs = std::filesystem;

struct Setting {
  SimdLevel level;
  int threads;
  int batch_size;
  std::string text() const {
    return fmt::format("{}, {} threads, batch {}", name(level), threads, batch_size);
  }
};

// The whole suite with the first batch size; with the next ones its evaluations alone, on the
// weights that are there (the batch size is in no key, so their records are taken away first).
class SuiteRuns {
 public:
  explicit SuiteRuns(std::string file) : file_(std::move(file)) {}

  SuiteDigest operator()(const Setting& setting) {
    const std::string name = fs::path(file_).stem().string();
    if (setting.level != level_ || setting.threads != threads_) {
      fs::remove_all(bench_.suite_folder(name));
    } else {
      for (const auto& entry : fs::directory_iterator(bench_.suite_folder(name)))
        if (entry.path().filename().string().starts_with("eval-")) fs::remove_all(entry.path());
    }
    level_ = setting.level;
    threads_ = setting.threads;
    bench_.environment = {{"NPUBENCH_SIMD", std::string(nb::name(level_))}};
    const auto result = bench_.run(
        file_,
        {"--quiet", "--threads", std::to_string(threads_), "--set", "/microbenchmarks=[]", "--set",
         fmt::format("/evaluations/0/batch_size={}", setting.batch_size)},
        std::chrono::hours(2));
    EXPECT_EQ(result.exit_code, 0) << setting.text() << ": " << result.out << result.err;
    return metrics_digest(bench_.suite_folder(name));
  }
  const Bench& bench() const { return bench_; }

 private:
  std::string file_;
  Bench bench_;
  SimdLevel level_ = SimdLevel::kScalar;
  int threads_ = 0;
};

// The first setting against the committed digest, the others against the first.
void expect_one_digest(const std::string& file, const std::vector<Setting>& settings,
                       const std::function<void(const Bench&)>& afterwards = {}) {
  SuiteRuns runs(file);
  const SuiteDigest first = runs(settings.front());
  ASSERT_FALSE(first.records.empty());
  const auto print = [](const Setting& setting, const SuiteDigest& digest) {
    std::printf("  %-36s %s\n", setting.text().c_str(), digest.digest.substr(0, 16).c_str());
    std::fflush(stdout);
  };
  print(settings.front(), first);
  EXPECT_EQ(difference_from_committed(fs::path(file).stem().string(), first), "")
      << settings.front().text();
  for (std::size_t i = 1; i < settings.size(); ++i) {
    const SuiteDigest now = runs(settings[i]);
    print(settings[i], now);
    EXPECT_EQ(difference(first, now), "") << settings[i].text();
  }
  std::printf("  %s: %zu settings\n", file.c_str(), settings.size());
  if (afterwards) afterwards(runs.bench());
}

// suites/README.md shows some lines of a comparison; each of them is printed today. Not those that
// count pairs: the microbenchmarks are not run here.
void expect_lines_of_the_readme(const Bench& bench) {
  const auto shown = bench(
      {"compare", bench.suite_folder("smoke").string(), "--devices", "ascend_910b3", "h100_sxm"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const std::string readme = *read_file(fs::path(NB_SOURCE_DIR) / "suites/README.md");
  const std::size_t begin = readme.find("```text\nOne training a side");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream lines(readme.substr(begin, readme.find("\n```\n", begin) - begin));
  int compared = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("```") || line.ends_with(" pairs)")) continue;
    EXPECT_NE(shown.out.find(line + "\n"), std::string::npos) << "suites/README.md: " << line;
    ++compared;
  }
  EXPECT_GE(compared, 18);
}

// Scalar only where there is nothing else: it takes fifty times as long.
std::vector<SimdLevel> fast_levels() {
  std::vector<SimdLevel> levels = available_levels();
  if (levels.size() > 1) levels.erase(levels.begin());
  return levels;
}

std::vector<Setting> every_setting(const std::vector<SimdLevel>& levels) {
  std::vector<Setting> settings;
  for (const SimdLevel level : levels)
    for (const int threads : {1, 2})
      for (const int batch_size : {1, 8, 64}) settings.push_back({level, threads, batch_size});
  return settings;
}

// Every level of this host on one thread, and the best on two; says which levels it has not.
std::vector<Setting> levels_once() {
  std::vector<Setting> settings;
  for (const SimdLevel level : all_simd_levels()) {
    if (const std::string reason = unavailable_reason(level); !reason.empty()) {
      std::printf("  not run: %s (%s)\n", name(level).data(), reason.c_str());
      continue;
    }
    settings.push_back({level, 1, 8});
  }
  settings.push_back({available_levels().back(), 2, 3});
  return settings;
}

TEST(Digests, ShortestSuiteIsTheSameAtEveryLevel) {
  expect_one_digest("tests/e2e/shortest.json", levels_once());
}

TEST(Digests, SmallSuiteIsTheSameAtEveryLevelThreadCountAndBatchSize) {
  expect_one_digest(kSmallSuite, every_setting(fast_levels()));
}

TEST(Digests, StagesAreTheSameAtEveryLevel) {
  expect_one_digest("tests/e2e/stages.json", levels_once());
}

// NB_EVERY_SETTING=<level>: that level with every number of threads and batch size
// (digest_grid.sh goes through the levels); takes minutes, at scalar hours without fma.
TEST(Digests, SmokeSuiteIsTheSameAsCommitted) {
  const char* every = std::getenv("NB_EVERY_SETTING");
  std::vector<Setting> settings = {{available_levels().back(), 2, 8}};
  if (every != nullptr) {
    const auto level = parse_simd_level(every);
    ASSERT_TRUE(level) << "NB_EVERY_SETTING: " << level.error().message;
    settings = every_setting({*level});
  }
  expect_one_digest("suites/smoke.json", settings, expect_lines_of_the_readme);
}

}  // namespace
}  // namespace nb::test
