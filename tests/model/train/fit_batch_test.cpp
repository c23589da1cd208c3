#include "model/train/fit_batch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "model/train/dry_step.hpp"

namespace nb {
namespace {

PredictSettings fit_settings() {
  return {.depth = 4, .vocab_size = 4096, .sequence_len = 512, .cards = 2};
}

// Two micro-batches of that many rows.
bool fits_in_two(const DeviceProfile& card, std::int64_t rows) {
  PredictSettings settings = fit_settings();
  settings.device_batch_size = rows;
  settings.total_batch_tokens = 2 * rows * settings.sequence_len * settings.cards;
  return predict(settings, card)->fits;
}

TEST(FitBatch, TheNextRowDoesNotFit) {
  for (const char* name : {"ascend_910b4", "h100_sxm"}) {
    const DeviceProfile card = *load_profile(name);
    const auto batch = fit_batch(fit_settings(), card);
    ASSERT_TRUE(batch) << batch.error().message;
    ASSERT_GT(batch->rows, 1);
    EXPECT_TRUE(fits_in_two(card, batch->rows)) << name;
    EXPECT_FALSE(fits_in_two(card, batch->rows + 1)) << name;
    EXPECT_LE(batch->needed_bytes, batch->capacity_bytes);
    EXPECT_GT(batch->next_needed_bytes, batch->capacity_bytes);
    EXPECT_GE(batch->margin(), 0);
    EXPECT_GT(batch->next_lack(), 0);
  }
}

// needed is a capacity on which the batch just fits: 0.3 % less and it does not.
TEST(FitBatch, NeededIsTheSmallestCapacity) {
  DeviceProfile card = *load_profile("ascend_910b4");
  const auto batch = fit_batch(fit_settings(), card);
  ASSERT_TRUE(batch);
  const double share =
      static_cast<double>(batch->needed_bytes) / static_cast<double>(batch->capacity_bytes);
  EXPECT_TRUE(fits_in_two(with_capacity(card, share + .0001), batch->rows));
  EXPECT_FALSE(fits_in_two(with_capacity(card, share - .003), batch->rows));
}

TEST(FitBatch, BorderlineIsWithinTwoPercent) {
  const DeviceProfile card = *load_profile("ascend_910b4");
  PredictSettings settings = fit_settings();
  const auto batch = fit_batch(settings, card);
  ASSERT_TRUE(batch);
  settings.device_batch_size = batch->rows;
  settings.total_batch_tokens = 2 * batch->rows * settings.sequence_len * settings.cards;
  const double share =
      static_cast<double>(batch->needed_bytes) / static_cast<double>(batch->capacity_bytes);
  struct Expected {
    double factor;
    bool fits, is_borderline;
  };
  for (const Expected& e : {Expected{1.10, true, false}, Expected{1.01, true, true},
                            Expected{0.99, false, true}, Expected{0.90, false, false}}) {
    const auto p = predict(settings, with_capacity(card, share * e.factor));
    ASSERT_TRUE(p);
    EXPECT_EQ(p->fits, e.fits) << e.factor;
    EXPECT_EQ(p->is_borderline, e.is_borderline) << e.factor;
  }
  FittingBatch tight = {.rows = 3, .capacity_bytes = 1000};
  tight.needed_bytes = 981;
  tight.next_needed_bytes = 1100;
  EXPECT_TRUE(tight.is_borderline());
  tight.needed_bytes = 979;
  EXPECT_FALSE(tight.is_borderline());
  tight.next_needed_bytes = 1019;
  EXPECT_TRUE(tight.is_borderline());
}

TEST(FitBatch, NotOneRowIsAnAnswerToo) {
  PredictSettings settings = fit_settings();
  settings.depth = 32;
  const auto batch = fit_batch(settings, with_capacity(*load_profile("ascend_910b4"), .3));
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->rows, 0);
  EXPECT_EQ(batch->needed_bytes, 0U);
  EXPECT_GT(batch->next_lack(), 0);
}

TEST(FitBatch, SamplesOfRlCountAsRows) {
  PredictSettings settings = fit_settings();
  settings.stage = TrainingStage::kRl;
  settings.prompt_tokens = settings.answer_tokens = 100;
  const auto batch = fit_batch(settings, *load_profile("ascend_910b4"));
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_GT(batch->rows, 1);
}

// The picture's highest point is the peak that is predicted, of what is predicted to hold it.
TEST(MemoryOverStep, PeaksWhereThePredictionSays) {
  PredictSettings settings = fit_settings();
  settings.device_batch_size = 2;
  settings.total_batch_tokens = 3 * 2 * 512 * 2;
  const DeviceProfile card = *load_profile("ascend_910b3");
  const auto predicted = predict(settings, card);
  const auto request = dry_step_request(settings, card, {}, 2);
  ASSERT_TRUE(predicted && request);
  const auto memory = memory_over_step(*request, card);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ(memory->time_ns.size(), predicted->account.launch_count());
  EXPECT_TRUE(std::ranges::is_sorted(memory->time_ns));
  const auto sum_of = [](const BytesByUse& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  };
  const auto fullest = std::ranges::max_element(memory->by_use, {}, sum_of);
  EXPECT_EQ(sum_of(*fullest), predicted->steady_peak.allocated_bytes);
  EXPECT_EQ(*fullest, predicted->peak_by_use);
  EXPECT_LT(sum_of(*fullest), memory->capacity_bytes);
}

// The trace is the predicted step: its kernels and collectives end with it.
TEST(PredictTrace, HoldsEveryLaunchOfTheStep) {
  PredictSettings settings = fit_settings();
  settings.device_batch_size = 2;
  settings.total_batch_tokens = 3 * 2 * 512 * 2;
  const DeviceProfile card = *load_profile("ascend_910b3");
  const auto predicted = predict(settings, card);
  const auto request = dry_step_request(settings, card, {}, 2);
  ASSERT_TRUE(predicted && request);
  const Json trace = trace_dry_step(*request, card);
  EXPECT_FALSE(trace.contains("metadata")) << "events were dropped";
  std::uint64_t kernels = 0;
  double first = 1e300, last = 0, busy = 0;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double start = event.at("ts").get<double>(), length = event.at("dur").get<double>();
    first = std::min(first, start);
    last = std::max(last, start + length);
    if (event.at("tid") == 0) continue;
    ++kernels;
    if (event.at("tid") == 1) busy += length;
  }
  EXPECT_EQ(kernels, predicted->account.launch_count());
  // The loss is read, which waits for the device, and the end of the step waits once more.
  const double wait_us = 2e-3 * card.launch.synchronize.value;
  EXPECT_NEAR(last - first + wait_us, 1e-3 * predicted->step_time_ns, .01);
  const auto& parts = predicted->account.class_ns;
  const double idle = static_cast<double>(parts[static_cast<std::size_t>(OpClass::kHost)] +
                                          parts[static_cast<std::size_t>(OpClass::kCommunication)]);
  EXPECT_NEAR(busy, 1e-3 * (predicted->step_time_ns - idle), .01 * static_cast<double>(kernels));
}

}  // namespace
}  // namespace nb
