#include "model/train/settings.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "model/decoder/presets.hpp"

namespace nb {
namespace {

TEST(Schedule, RatesMayRiseAndFallInAllStepsButNotAtOnce) {
  TrainSettings settings;
  settings.warmup_ratio = 0.7;
  for (const double warmdown : {0.0, 0.2, 0.3}) {
    settings.warmdown_ratio = warmdown;
    EXPECT_TRUE(check_schedule(settings)) << warmdown;
  }
  settings.warmdown_ratio = 0.31;
  ASSERT_FALSE(check_schedule(settings));
  EXPECT_EQ(check_schedule(settings).error().code, ErrorCode::kBadInput);
}

TEST(PlanBatch, DividesIntoAccumulationSteps) {
  const TrainSettings d20;
  const auto eight = plan_batch(d20, 8);
  ASSERT_TRUE(eight);
  EXPECT_EQ(eight->accumulation_steps, 1);
  EXPECT_EQ(plan_batch(d20, 1)->accumulation_steps, 8);
  EXPECT_EQ(plan_batch(d20, 1)->micro_batch_tokens, 65536);
}

TEST(PlanBatch, NamesBothNumbersAndTheNearestValidOnes) {
  TrainSettings settings;
  settings.sequence_len = 256;
  settings.device_batch_size = 12;
  settings.total_batch_tokens = 16384;
  const auto plan = plan_batch(settings, 1);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(plan.error().message,
            "total_batch_tokens 16384 is not a multiple of 3072 = 1 card × device_batch_size 12 × "
            "sequence_len 256; the nearest valid total_batch_tokens: 15360 or 18432");
}

TEST(PlanBatch, TooSmallABatchNamesTheSmallestValidOne) {
  TrainSettings settings;
  settings.total_batch_tokens = 1000;
  const auto plan = plan_batch(settings, 2);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("nearest valid total_batch_tokens: 131072"),
            std::string::npos)
      << plan.error().message;
}

// They ran over: the nearest valid number was -9223372036854775808.
TEST(PlanBatch, NumbersBeyondCountingAreRefused) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  TrainSettings settings;
  settings.sequence_len = 32;
  settings.device_batch_size = 2;
  settings.total_batch_tokens = kMax;
  auto plan = plan_batch(settings, 1);
  ASSERT_FALSE(plan);
  EXPECT_TRUE(
      plan.error().message.ends_with("the nearest valid total_batch_tokens: 9223372036854775744"))
      << plan.error().message;
  settings.device_batch_size = kMax;
  plan = plan_batch(settings, 1);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("too large a number of tokens"), std::string::npos)
      << plan.error().message;
}

TEST(PlannedIterations, FollowTheRatioUnlessGiven) {
  TrainSettings settings;
  EXPECT_EQ(planned_iterations(settings, config_for_depth(20, 65536, 2048)), 21400);
  settings.iterations = 7;
  EXPECT_EQ(planned_iterations(settings, config_for_depth(20, 65536, 2048)), 7);
  settings.iterations.reset();
  settings.param_data_ratio = 0;
  EXPECT_EQ(planned_iterations(settings, config_for_depth(2, 64, 16)), 1);
}

TEST(TrainSettings, UnknownKeyNamesTheNearest) {
  const auto parsed = parse_struct<TrainSettings>(Json{{"dept", 4}}, "suites/a.json: /train");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("depth"), std::string::npos) << parsed.error().message;
}

}  // namespace
}  // namespace nb
