#include "model/device/timeline.hpp"

#include <gtest/gtest.h>

#include "harness/base/check.hpp"

namespace nb {
namespace {

TEST(Timeline, ShortKernelsTakeAsLongAsTheirHost) {
  Timeline t(/*dispatch_ns=*/20, /*synchronize_ns=*/0, /*queue_depth=*/100);
  for (int i = 0; i < 50; ++i) t.launch(Stream::kCompute, 3);
  EXPECT_EQ(t.time_ns(), 50 * 20 + 3);
}

TEST(Timeline, LongKernelsHideTheirHost) {
  Timeline t(20, 0, 100);
  for (int i = 0; i < 50; ++i) t.launch(Stream::kCompute, 100);
  EXPECT_EQ(t.time_ns(), 20 + 50 * 100);
  EXPECT_EQ(t.host_ns(), 50 * 20);
}

TEST(Timeline, HostWaitsWhenTheQueueIsFull) {
  Timeline t(1, 0, 2);
  t.launch(Stream::kCompute, 100);  // dispatched at 0, runs 1 to 101
  t.launch(Stream::kCompute, 100);  // 101 to 201
  const Launch third = t.launch(Stream::kCompute, 100);
  EXPECT_EQ(third.dispatch_start_ns, 101);
  EXPECT_EQ(third.start_ns, 201);
}

TEST(Timeline, SynchronizeBringsTheHostToTheDevice) {
  Timeline t(1, 7, 100);
  t.launch(Stream::kCompute, 100);
  t.synchronize();
  EXPECT_EQ(t.host_ns(), 101 + 7);
  EXPECT_EQ(t.launch(Stream::kCompute, 5).start_ns, 109);
}

TEST(Timeline, CollectiveWaitsForComputeAndComputeForIt) {
  Timeline t(1, 0, 100);
  t.launch(Stream::kCompute, 50);  // ends at 51
  EXPECT_EQ(t.collective_ready_ns(), 51);
  const Launch c = t.collective(60, 40);  // another rank was late
  EXPECT_EQ(c.start_ns, 60);
  EXPECT_EQ(t.launch(Stream::kCompute, 5).start_ns, 100);
  EXPECT_THROW(t.collective(10, 1), CheckFailure);
}

TEST(Timeline, RestoredClockGoesOnAsTheSavedOneWould) {
  Timeline a(3, 1, 4);
  for (int i = 0; i < 9; ++i) a.launch(Stream::kCompute, 10 + i);
  Timeline b(3, 1, 4);
  b.restore(a.state());
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(a.launch(Stream::kCompute, 7).end_ns, b.launch(Stream::kCompute, 7).end_ns);
  }
  EXPECT_EQ(a.state(), b.state());
}

}  // namespace
}  // namespace nb
