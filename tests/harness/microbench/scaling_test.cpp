#include "harness/microbench/scaling.hpp"

#include <gtest/gtest.h>

#include "harness/base/subprocess.hpp"

namespace nb {
namespace {

ScalingPoint point(std::int64_t size, double flop, std::vector<TimedStep> rounds) {
  return {.size = size, .flop = flop, .rounds = std::move(rounds)};
}

TEST(Scaling, TheLineOfPointsOnALineIsThatLine) {
  const LineFit fit = fit_line({2, 4, 6, 8}, {1.25, 2.25, 3.25, 4.25});
  EXPECT_NEAR(fit.start, 0.25, 1e-12);
  EXPECT_NEAR(fit.slope, 0.5, 1e-12);
  EXPECT_NEAR(fit.farthest, 0, 1e-12);
}

// Weighted least squares by hand: weights 1, 1/4, 1/25 for the points (1,1), (2,2), (3,5).
TEST(Scaling, TheLineMinimisesRelativeErrorsAndSaysTheFarthest) {
  const LineFit fit = fit_line({1, 2, 3}, {1, 2, 5});
  const double sum = 1.29, sum_x = 1.62, sum_xx = 2.36, sum_y = 1.7, sum_xy = 2.6;
  const double slope = (sum * sum_xy - sum_x * sum_y) / (sum * sum_xx - sum_x * sum_x);
  EXPECT_NEAR(fit.slope, slope, 1e-12);
  EXPECT_NEAR(fit.start, (sum_y - slope * sum_x) / sum, 1e-12);
  EXPECT_NEAR(fit.farthest, 1 - (fit.start + 3 * slope) / 5, 1e-12);
}

TEST(Scaling, TimesAreHeldAgainstTheLoopOfTheirOwnRound) {
  // The host ran at half its speed in the last round: the same share, the same time at one rate.
  const ScalingPoint p = point(2, 100e9, {{0.5, 400}, {0.5, 400}, {1.0, 200}});
  EXPECT_DOUBLE_EQ(p.share_of_peak(), 0.5);
  EXPECT_DOUBLE_EQ(p.time_s(400), 0.5);
  EXPECT_DOUBLE_EQ(p.time_s(200), 1.0);
}

TEST(Scaling, TheTableHasTimeFlopShareAndFit) {
  const std::vector<ScalingPoint> points = {point(2, 100e9, {{0.5, 400}}),
                                            point(4, 200e9, {{1.0, 400}})};
  const std::string layers = scaling_text("layers", points, false);
  for (const char* part : {"counted Gflop", "0.5000 s", "100.0", "0.500", "400 Gflop/s",
                           "0.25 s for each layer", "farthest point 0.0 %"})
    EXPECT_NE(layers.find(part), std::string::npos) << part << "\n" << layers;
  const std::string depth = scaling_text("depth", points, true);
  EXPECT_NE(depth.find("5 s for each counted Tflop"), std::string::npos) << depth;
}

TEST(Scaling, TheGainOfAStepIsDividedByTheLoopsGainInTheSameRound) {
  // In the middle round a neighbour halved the second core for step and loop alike.
  const Turns gains{
      .names = {"1", "2"},
      .flop = 100e9,
      .runs = {{{0.5, 400}, {0.5, 400}, {0.5, 400}}, {{0.25, 800}, {0.3333333, 600}, {0.25, 800}}}};
  const std::string text = thread_gains_text(gains);
  for (const char* part : {"step over loop", "2.000", "1.000 (1.000 to 1.000)", "0.500"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Scaling, ADeviceIsHeldAgainstTheFirstInTheSameRound) {
  const Turns turns{.names = {"eager", "fused"},
                    .flop = 100e9,
                    .runs = {{{0.5, 400}, {1.0, 200}}, {{0.4, 400}, {0.8, 200}}}};
  const std::string text = devices_text(turns);
  for (const char* part : {"over the first", "eager", "0.500", "0.625", "1.250 (1.250 to 1.250)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

SubprocessResult step_program(const std::string& option, const std::string& json) {
  const auto result = run_subprocess({NB_BINARY_DIR "/npubench_step", option, json}, {});
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

TEST(Scaling, TheProgramPrintsATableForEachThingThatIsVaried) {
  const auto result = step_program(
      "--scaling",
      R"({"step": {"depth": 1, "vocabulary": 32, "length": 16, "rows": 2, "tokens": 32},
          "device": {"profile": "ascend_910b3"}, "layers": [1, 2], "depths": [1, 2],
          "tokens": [32, 64], "thread_counts": [1, 2], "rank_counts": [1, 1],
          "devices": [{"profile": "ascend_910b3"}, {"name": "fused", "profile": "ascend_910b3",
                       "numerics_overrides": {"pointwise": "fused"}}],
          "rounds": 1, "threads": 1})");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* part :
       {"layers, 1 thread (d1, vocabulary 32, 2 x 16, 32 tokens, train, ", "depth, 1 thread (",
        "tokens, 1 thread (", "threads (", "cards, 1 thread (", "devices, 1 thread (", "fused",
        "for each layer", "for each counted Tflop", "for each token", "step over loop"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
}

TEST(Scaling, CardsAreHeldAgainstTheFirstInTheSameRound) {
  const Turns turns{.names = {"1", "4"},
                    .flop = 1,
                    .runs = {{{0.5, 0, 1}, {1.0, 0, 2}}, {{0.6, 0, 1.1}, {1.2, 0, 2.2}}}};
  const std::string text = ranks_text(turns);
  for (const char* part : {"1.200", "1.100", "cards"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Scaling, BadInputIsOneSentence) {
  const std::string device = R"("device": {"profile": "ascend_910b3"})";
  const std::pair<std::string, const char*> cases[] = {
      {"{" + device + "}", "nothing to vary"},
      {"{" + device + R"(, "layers": [2]})", "a line needs two sizes"},
      {"{" + device + R"(, "thread_counts": [1]})", "/thread_counts"},
      {"{" + device +
           ","
           R"("devices": [{"profile": "tiny"}]})",
       "/devices"},
      {"{" + device + R"(, "devices": [{"profile": "tiny"}, {"profile": "tinny"}]})", "/devices/1"},
      {"{" + device + R"(, "rank_counts": [1]})", "/rank_counts"},
      {"{" + device + R"(, "rank_counts": [1, 3]})", "8 micro-batches are not shared by 3 cards"},
      {"{" + device + R"(, "tokens": [2048, 3000]})", "tokens 3000"},
      {"{" + device + R"(, "depths": [4, 5]})", "depth 5"},
      {"{" + device + R"(, "layer": [2, 4]})", "did you mean \"layers\""}};
  for (const auto& [json, part] : cases) {
    const auto result = step_program("--scaling", json);
    EXPECT_EQ(result.exit_code, 64) << json;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(step_program("--scalin", "{}").exit_code, 64);
}

TEST(Scaling, DevicesThatAreComparedNeedNoOther) {
  const auto result = step_program(
      "--scaling",
      R"({"step": {"depth": 1, "vocabulary": 32, "length": 16, "rows": 2, "tokens": 32},
          "devices": [{"profile": "ascend_910b3"}, {"profile": "h100_sxm"}], "rounds": 1})");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("h100_sxm"), std::string::npos) << result.out;
}

TEST(StepProgram, ADepthThatNoModelHasIsOneSentence) {
  const auto result =
      step_program("--request", R"({"step": {"depth": 5}, "device": {"profile": "ascend_910b3"}})");
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_NE(result.err.find("--request: /step"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace nb
