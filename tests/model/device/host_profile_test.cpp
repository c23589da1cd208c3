#include "model/device/host_profile.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "model/device/device.hpp"
#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

using test::profile;
using test::sample_op;

TEST(HostProfile, RecordsNothingUntilStarted) {
  Device device(profile("tiny"), ExecutionMode::kExecute);
  device.run(sample_op(OpKind::kAdd), [] {});
  EXPECT_TRUE(device.host_profile().entries().empty());
  EXPECT_EQ(device.host_profile().bookkeeping_ns(), 0);
}

TEST(HostProfile, JoinsCallsOfOneKindAndLabel) {
  Device device(profile("tiny"), ExecutionMode::kExecute);
  HostProfile& host = device.host_profile();
  host.start();
  OpDesc product = sample_op(OpKind::kLinear);
  product.label = "up";
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    device.run(product, [&] {
      ++calls;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  product.label = "down";
  device.run(product, [] {});
  host.stop();
  device.run(product, [] {});
  ASSERT_EQ(host.entries().size(), 2u);
  const HostProfileEntry& up = host.entries()[0];
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(up.kind, OpKind::kLinear);
  EXPECT_EQ(up.label, "up");
  EXPECT_EQ(up.calls, 3);
  EXPECT_GE(up.time_ns, 3'000'000);
  EXPECT_EQ(up.flops, 3.0 * 2.0 * static_cast<double>(product.rows * product.cols * product.inner));
  EXPECT_GT(up.moved_bytes, 0u);
  EXPECT_EQ(host.entries()[1].calls, 1);
  EXPECT_GE(host.elapsed_ns(), up.time_ns + host.bookkeeping_ns());
}

TEST(HostProfile, StartForgets) {
  Device device(profile("tiny"), ExecutionMode::kExecute);
  device.host_profile().start();
  device.run(sample_op(OpKind::kAdd), [] {});
  device.host_profile().start();
  EXPECT_TRUE(device.host_profile().entries().empty());
}

TEST(HostProfile, WhatIsStoppedGoesOnWithResume) {
  Device device(profile("tiny"), ExecutionMode::kExecute);
  HostProfile& host = device.host_profile();
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  for (int step = 0; step < 3; ++step) {
    host.resume();
    device.run(sample_op(OpKind::kAdd), [] {});
    host.stop();
    device.run(sample_op(OpKind::kLinear), pause);
  }
  EXPECT_EQ(host.spans(), 3);
  ASSERT_EQ(host.entries().size(), 1u);
  EXPECT_EQ(host.entries()[0].calls, 3);
  const std::int64_t elapsed_ns = host.elapsed_ns();
  pause();
  EXPECT_EQ(host.elapsed_ns(), elapsed_ns);
}

TEST(HostProfile, ChangesNoSimulatedNumber) {
  Device plain(profile("ascend_910b3"), ExecutionMode::kExecute);
  Device profiled(profile("ascend_910b3"), ExecutionMode::kExecute);
  profiled.host_profile().start();
  for (Device* device : {&plain, &profiled}) {
    for (const OpKind kind : {OpKind::kLinear, OpKind::kAdd, OpKind::kRmsNorm})
      device->run(sample_op(kind), [] {});
  }
  EXPECT_EQ(plain.time_ns(), profiled.time_ns());
  EXPECT_EQ(plain.memory(), profiled.memory());
  EXPECT_EQ(plain.counters(), profiled.counters());
}

}  // namespace
}  // namespace nb
