// --simd, NPUBENCH_SIMD, --version and what a record says about the level.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/kernels/simd_level.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

SimdLevel missing_level() {
  for (const SimdLevel level : all_simd_levels())
    if (!unavailable_reason(level).empty()) return level;
  return SimdLevel::kNeon;  // never reached: no processor has both NEON and AVX
}

// Nothing but a prediction: the node that starts and ends fastest.
SubprocessResult predict(const Bench& bench, std::vector<std::string> more) {
  more.insert(more.end(), {"--set", "/stages={}", "--set", "/evaluations=[]", "--set",
                           "/microbenchmarks=[]", "--set", R"(/devices=["h100_sxm"])", "--quiet"});
  return bench.run(kSmallSuite, more);
}

TEST(SimdFlag, WinsOverTheVariableAndTheRecordSaysWhichLevelRan) {
  for (const SimdLevel level : available_levels()) {
    Bench bench;
    bench.environment = {{"NPUBENCH_SIMD", "nonsense"}};
    const auto result = predict(bench, {"--simd", std::string(name(level))});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto record = read_record(bench.node("predict-d4-c2-b2-h100_sxm"));
    ASSERT_TRUE(record) << record.error().message;
    const Json& simd = record->environment->at("simd");
    EXPECT_EQ(simd.at("used"), name(level));
    EXPECT_EQ(simd.at("available").size(), available_levels().size());
    EXPECT_EQ(simd.at("available").size() + simd.at("unavailable").size(),
              all_simd_levels().size());
    EXPECT_EQ(simd.at("unavailable").at(std::string(name(missing_level()))),
              unavailable_reason(missing_level()));
  }
}

TEST(SimdFlag, UnknownLevelIsOneSentenceWithTheLevelsOfThisHost) {
  const Bench bench;
  const auto result = predict(bench, {"--simd", "sse9"});
  EXPECT_EQ(result.exit_code, 64);
  for (const char* part : {"npubench: --simd: ", "\"sse9\"", "available here: scalar"})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
}

TEST(SimdFlag, UnavailableLevelSaysWhyAndListsTheLevelsOfThisHost) {
  Bench bench;
  const std::string missing(name(missing_level()));
  for (const bool by_flag : {true, false}) {
    bench.environment = {{"NPUBENCH_SIMD", by_flag ? "" : missing}};
    const auto result = predict(
        bench, by_flag ? std::vector<std::string>{"--simd", missing} : std::vector<std::string>{});
    EXPECT_EQ(result.exit_code, 64);
    for (const std::string& part :
         {std::string(by_flag ? "--simd: " : "NPUBENCH_SIMD: "), "level " + missing,
          unavailable_reason(missing_level()), std::string("available here: scalar")})
      EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
}

TEST(SimdFlag, VersionNamesTheLevelInUseAndEveryOther) {
  Bench bench;
  bench.environment = {{"NPUBENCH_SIMD", "scalar"}};
  const auto result = bench({"--version"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("npubench ")) << result.out;
  EXPECT_NE(result.out.find("\nsimd: scalar\n"), std::string::npos) << result.out;
  for (const SimdLevel level : all_simd_levels()) {
    const std::string reason = unavailable_reason(level);
    const std::size_t line = result.out.find("\n  " + std::string(name(level)) + " ");
    ASSERT_NE(line, std::string::npos) << result.out;
    EXPECT_NE(result.out.find(reason.empty() ? "available" : reason, line), std::string::npos);
  }
  bench.environment = {{"NPUBENCH_SIMD", "nonsense"}};
  EXPECT_EQ(bench({"--version"}).exit_code, 64);
}

}  // namespace
}  // namespace nb::test
