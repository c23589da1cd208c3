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

// Ascend/pytorch, TASK_QUEUE_ENABLE: one thread does both stages, or two work side by side.
TEST(Timeline, ASecondStageHidesBehindTheFirst) {
  Timeline queued({.dispatch_ns = 20, .backward_ns = 20, .submit_ns = 5, .queue_depth = 100});
  Timeline alone({.dispatch_ns = 25, .backward_ns = 25, .queue_depth = 100});
  for (Timeline* t : {&queued, &alone})
    for (int i = 0; i < 50; ++i) t->launch(Stream::kCompute, 3);
  EXPECT_EQ(queued.time_ns(), 50 * 20 + 5 + 3);
  EXPECT_EQ(alone.time_ns(), 50 * 25 + 3);
}

TEST(Timeline, TheSlowerStageIsTheRate) {
  Timeline t({.dispatch_ns = 5, .backward_ns = 5, .submit_ns = 20, .queue_depth = 1000});
  for (int i = 0; i < 50; ++i) t.launch(Stream::kCompute, 3);
  EXPECT_EQ(t.time_ns(), 5 + 50 * 20 + 3);
  EXPECT_EQ(t.host_ns(), 50 * 5);
}

TEST(Timeline, ForwardBackwardAndCollectivesHaveTheirOwnDispatch) {
  Timeline t({.dispatch_ns = 30, .backward_ns = 10, .collective_ns = 70, .queue_depth = 100});
  t.launch(Stream::kCompute, 0, Dispatch::kForward);
  EXPECT_EQ(t.host_ns(), 30);
  t.launch(Stream::kCompute, 0, Dispatch::kBackward);
  EXPECT_EQ(t.host_ns(), 40);
  EXPECT_EQ(t.collective_ready_ns(), 110);
  t.collective(110, 1);
  EXPECT_EQ(t.host_ns(), 110);
}

TEST(Timeline, BlockingLaunchesWaitForTheirEnd) {
  Timeline t({.dispatch_ns = 10, .synchronize_ns = 2, .queue_depth = 100, .is_blocking = true});
  for (int i = 0; i < 3; ++i) t.launch(Stream::kCompute, 5);
  EXPECT_EQ(t.time_ns(), 3 * (10 + 5 + 2));
}

TEST(Timeline, ACollectiveBesideComputeIsWaitedForWhereAsked) {
  Timeline t(1, 0, 100);
  t.launch(Stream::kCompute, 10);                               // 1 to 11
  const std::int64_t first = t.collective_beside(100).end_ns;   // 11 to 111
  const std::int64_t second = t.collective_beside(100).end_ns;  // behind it
  EXPECT_EQ(first, 111);
  EXPECT_EQ(second, 211);
  EXPECT_EQ(t.launch(Stream::kCompute, 10).start_ns, 11);  // beside both
  t.wait_for(first);
  EXPECT_EQ(t.launch(Stream::kCompute, 10).start_ns, 111);
  EXPECT_EQ(t.time_ns(), 211);
}

TEST(Timeline, ReadyIsWhereACollectiveOfAFullQueueCanStart) {
  Timeline t({.dispatch_ns = 1, .backward_ns = 1, .collective_ns = 4, .queue_depth = 2});
  t.launch(Stream::kCompute, 100);
  t.launch(Stream::kCompute, 100);
  const std::int64_t ready = t.collective_ready_ns();
  EXPECT_EQ(ready, 201);
  EXPECT_EQ(t.collective(ready, 7).dispatch_start_ns, 101);
}

TEST(Timeline, EqualLeadsOfTheHostGoOnAlike) {
  Timeline a(2, 0, 10), b(2, 0, 10);
  a.launch(Stream::kCompute, 50);
  b.launch(Stream::kCompute, 50);
  b.synchronize();
  b.launch(Stream::kCompute, 50);
  EXPECT_EQ(a.ahead_of_host(), b.ahead_of_host());
  a.shift(b.host_ns() - a.host_ns());
  EXPECT_EQ(a.launch(Stream::kCompute, 3).end_ns, b.launch(Stream::kCompute, 3).end_ns);
}

}  // namespace
}  // namespace nb
