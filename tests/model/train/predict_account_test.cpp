// What a predicted step's time, bytes and peaks consist of.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "model/decoder/presets.hpp"
#include "model/device/profile.hpp"
#include "model/device/profile_layers.hpp"
#include "model/train/mfu.hpp"
#include "model/train/predict.hpp"

namespace nb {
namespace {

PredictSettings account_settings(TrainingStage stage) {
  PredictSettings settings = {.depth = 2,
                              .vocab_size = 512,
                              .sequence_len = 64,
                              .cards = 2,
                              .device_batch_size = 2,
                              .total_batch_tokens = 1024,
                              .stage = stage};
  if (stage == TrainingStage::kSft) settings.row_tokens = 40;
  if (stage == TrainingStage::kRl) settings.prompt_tokens = settings.answer_tokens = 10;
  return settings;
}

template <class T, std::size_t n>
double sum_of(const std::array<T, n>& parts) {
  return static_cast<double>(std::accumulate(parts.begin(), parts.end(), T{0}));
}

TEST(PredictAccount, ClassesAndLimitersAddUpToTheStepToTheNanosecond) {
  using Stage = TrainingStage;
  for (const char* name : {"tiny", "ascend_910b3", "ascend_910c", "h100_sxm"}) {
    for (const Stage stage : {Stage::kBase, Stage::kMid, Stage::kSft, Stage::kRl}) {
      const auto p = predict(account_settings(stage), *load_profile(name));
      ASSERT_TRUE(p) << name << ": " << p.error().message;
      EXPECT_EQ(sum_of(p->account.class_ns), p->step_time_ns) << name;
      EXPECT_EQ(sum_of(p->account.limit_ns), p->step_time_ns) << name;
      const auto waits = [&](auto part, const auto& parts) {
        return static_cast<double>(parts[static_cast<std::size_t>(part)]);
      };
      EXPECT_EQ(waits(TimeLimit::kCommunication, p->account.limit_ns), p->communication_time_ns);
      EXPECT_EQ(waits(OpClass::kCommunication, p->account.class_ns), p->communication_time_ns);
      EXPECT_EQ(sum_of(p->peak_by_use), static_cast<double>(p->steady_peak.allocated_bytes));
    }
  }
}

// What a prediction costs follows from the kernels that it prices: a layer has as many as the next,
// and of equal micro-batches only so many are run (`predict` in harness/microbench times it).
TEST(PredictAccount, KernelsGrowInAStraightLineWithTheLayers) {
  std::vector<std::int64_t> kernels;
  for (const std::int64_t depth : {2, 4, 6, 8}) {
    PredictSettings settings = account_settings(TrainingStage::kBase);
    settings.depth = depth;
    const auto p = predict(settings, *load_profile("ascend_910b3"));
    ASSERT_TRUE(p) << p.error().message;
    kernels.push_back(static_cast<std::int64_t>(p->account.launch_count()));
  }
  EXPECT_EQ(kernels[2] - kernels[1], kernels[1] - kernels[0]);
  EXPECT_EQ(kernels[3] - kernels[2], kernels[1] - kernels[0]);
}

// On one card nobody waits for another one.
TEST(PredictAccount, OneCardDoesNotCommunicate) {
  PredictSettings settings = account_settings(TrainingStage::kBase);
  settings.cards = 1;
  const auto p = predict(settings, *load_profile("ascend_910b3"));
  ASSERT_TRUE(p);
  const auto at = static_cast<std::size_t>(OpClass::kCommunication);
  EXPECT_EQ(p->account.class_ns[at], 0);
  EXPECT_EQ(p->account.launches[at], 0U);
  EXPECT_EQ(p->account.bytes[at], 0U);
}

// 8 layers of 12 matrices' worth of FLOP: large rows are the cubes' work, single short ones the
// host's.
TEST(PredictAccount, SmallStepsAreLimitedByTheHostLargeOnesByTheCubes) {
  const DeviceProfile card = *load_profile("ascend_910b3");
  PredictSettings settings = {.depth = 8, .cards = 1, .device_batch_size = 1};
  settings.sequence_len = settings.total_batch_tokens = 128;
  const auto small = predict(settings, card);
  settings.sequence_len = settings.total_batch_tokens = 16384;
  settings.depth = 20;
  const auto large = predict(settings, card);
  ASSERT_TRUE(small && large);
  const auto largest = [](const TimeAccount& a) {
    return static_cast<TimeLimit>(std::ranges::max_element(a.limit_ns) - a.limit_ns.begin());
  };
  EXPECT_EQ(largest(small->account), TimeLimit::kHost);
  EXPECT_EQ(largest(large->account), TimeLimit::kCube);
}

// fp32 weights and gradients have 4 bytes per parameter but for the table, which is bf16; the
// optimizers' state is split among cards: tables by rows, matrices whole (nanochat's DistMuon).
TEST(PredictAccount, ParametersAndGradientsHaveTheirClosedForms) {
  PredictSettings settings = {.depth = 4, .vocab_size = 32768, .cards = 1};
  settings.device_batch_size = 1;
  const DeviceProfile h100 = *load_profile("h100_sxm");
  const auto one = predict(settings, h100);
  settings.cards = 8;
  const auto eight = predict(settings, h100);
  ASSERT_TRUE(one && eight);
  const auto bytes = [](const Prediction& p, BlockUse use) {
    return static_cast<double>(p.peak_by_use[static_cast<std::size_t>(use)]);
  };
  const double table = 32768. * 256;
  const double expected = 4 * (static_cast<double>(one->param_count) - table) + 2 * table;
  EXPECT_NEAR(bytes(*one, BlockUse::kParameter), expected, 0.001 * expected);
  EXPECT_LE(bytes(*one, BlockUse::kGradient), 1.001 * expected);
  // Moments: of the head 2 x fp32, of the table 2 x bf16. Muon's buffers, fp32: 16 squares and 8
  // matrices of 4 squares; the first of eight cards has 2 squares and one of each kind of the 8.
  const double moments = 2 * 4 * table + 2 * 2 * table, square = 4. * 256 * 256;
  EXPECT_NEAR(bytes(*one, BlockUse::kOptimizer), moments + 48 * square, 0.001 * moments);
  EXPECT_NEAR(bytes(*eight, BlockUse::kOptimizer), moments / 8 + 10 * square, 0.001 * moments);
}

// The first step has no optimizer state before its end; later ones carry it through.
TEST(PredictAccount, PeaksOfTheFirstStepAndOfLaterOnesAreApart) {
  const PredictSettings settings = {.depth = 12, .cards = 1, .device_batch_size = 2};
  for (const char* name : {"h100_sxm", "ascend_910b3"}) {
    const auto p = predict(settings, *load_profile(name));
    ASSERT_TRUE(p);
    EXPECT_LT(p->first_peak.allocated_bytes, p->steady_peak.allocated_bytes) << name;
    EXPECT_EQ(p->peak_allocated_bytes, p->steady_peak.allocated_bytes) << name;
    EXPECT_GE(p->peak_reserved_bytes, p->steady_peak.reserved_bytes) << name;
  }
}

TEST(PredictAccount, MfuIsAShareOfThePeakOfTheInputsType) {
  const DeviceProfile fp16_only = *load_profile("ascend_910a");
  EXPECT_EQ(mfu_dtype(fp16_only), DType::kFp16);
  EXPECT_EQ(mfu_peak(fp16_only).value, fp16_only.matrix.peak.fp16->value);
  const DeviceProfile h100 = *load_profile("h100_sxm");
  EXPECT_NEAR(mfu_peak(h100).value, 989, 1);
  EXPECT_DOUBLE_EQ(model_flop_utilization(2'000'000'000, 1e6, 2, h100),
                   2e15 / (2 * mfu_peak(h100).value * 1e12));
}

}  // namespace
}  // namespace nb
