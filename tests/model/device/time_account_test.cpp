#include "model/device/time_account.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "model/device/device.hpp"
#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

std::int64_t time_of(const TimeAccount& account, OpClass op_class) {
  return account.class_ns[static_cast<std::size_t>(op_class)];
}
std::int64_t time_of(const TimeAccount& account, TimeLimit limit) {
  return account.limit_ns[static_cast<std::size_t>(limit)];
}

TEST(TimeAccount, EveryKindHasAClassAndBackwardHasThatOfForward) {
  for (const OpKindInfo& info : op_kinds()) {
    const OpClass own = class_of(info.kind);
    EXPECT_NE(own, OpClass::kHost) << info.name;
    for (const OpKindInfo& other : op_kinds()) {
      if (!std::string(other.name).starts_with(std::string(info.name) + "_backward")) continue;
      EXPECT_EQ(class_of(other.kind), own) << other.name;
    }
  }
}

TEST(TimeAccount, NamesDiffer) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kOpClasses; ++i) names.insert(name(static_cast<OpClass>(i)));
  EXPECT_EQ(names.size(), kOpClasses);
  names.clear();
  for (std::size_t i = 0; i < kTimeLimits; ++i) names.insert(name(static_cast<TimeLimit>(i)));
  EXPECT_EQ(names.size(), kTimeLimits);
}

// A clock of round numbers: launches of 100 ns, kernels without a fixed time, waits of 10 ns.
DeviceProfile round_profile() {
  DeviceProfile profile = test::profile("tiny");
  profile.launch.host_dispatch.value = profile.launch.host_dispatch_backward.value = 100;
  profile.launch.collective_dispatch.value = 100;
  profile.launch.synchronize.value = 10;
  return profile;
}

OpDesc product_of_60() {
  OpDesc linear;
  linear.kind = OpKind::kLinear;
  linear.rows = 2;
  linear.cols = 5;
  linear.inner = 3;
  linear.dtype = DType::kBf16;
  return linear;
}

OpDesc sum_of_8() {
  OpDesc reduce;
  reduce.kind = OpKind::kAllReduce;
  reduce.count = 8;
  return reduce;
}

// (2, 3) x (3, 5): 60 operations of 1 ns. The first launch takes 100 ns of the host, the second is
// dispatched while the first runs and comes 40 ns after its end.
TEST(TimeAccount, IdleTimeBeforeALateLaunchIsTheHosts) {
  Device device(round_profile(), ExecutionMode::kDry);
  const OpDesc linear = product_of_60();
  device.run(linear, [] {});
  device.run(linear, [] {});
  device.synchronize();
  const TimeAccount& account = device.account();
  EXPECT_EQ(account.total_ns(), device.time_ns());
  EXPECT_EQ(time_of(account, OpClass::kProduct), 120);
  EXPECT_EQ(time_of(account, TimeLimit::kCube), 120);
  EXPECT_EQ(time_of(account, OpClass::kHost), 100 + 40 + 10);
  EXPECT_EQ(account.launch_count(), 2U);
}

// Compute ends at 160; a collective beside it starts at 200, when it is launched, and takes 500.
// Compute waits from 160 to 700.
TEST(TimeAccount, WaitingForACollectiveBesideComputeIsCommunication) {
  Device device(round_profile(), ExecutionMode::kDry);
  const OpDesc linear = product_of_60();
  device.run(linear, [] {});
  const OpDesc reduce = sum_of_8();
  device.wait_for(device.run_collective_beside(reduce, 500, 32));
  EXPECT_EQ(time_of(device.account(), OpClass::kCommunication), 540);
  EXPECT_EQ(time_of(device.account(), OpClass::kHost), 100);
  // In line: launched at 300, while the first one runs; both are done at 800.
  device.run_collective(reduce, device.collective_ready_ns(), 100, 32);
  device.synchronize();
  EXPECT_EQ(time_of(device.account(), TimeLimit::kCommunication), 640);
  EXPECT_EQ(time_of(device.account(), OpClass::kHost), 100 + 10);
  EXPECT_EQ(device.account().total_ns(), device.time_ns());
  EXPECT_EQ(device.account().bytes[static_cast<std::size_t>(OpClass::kCommunication)], 64U);
}

// Nobody waited for it: the host does at the end.
TEST(TimeAccount, ACollectiveThatOutlastsComputeIsCommunicationAtTheEnd) {
  Device device(round_profile(), ExecutionMode::kDry);
  device.run_collective_beside(sum_of_8(), 500, 32);
  device.synchronize();
  EXPECT_EQ(device.account().total_ns(), 100 + 500 + 10);
  EXPECT_EQ(time_of(device.account(), OpClass::kCommunication), 600);
}

TEST(TimeAccount, RepeatsAndDifferences) {
  TimeAccount before, now;
  before.add_time(OpClass::kLoss, TimeLimit::kMemory, 5);
  before.add_launch(OpClass::kLoss, 7);
  now = before;
  now.add_time(OpClass::kLoss, TimeLimit::kMemory, 2);
  now.add_launch(OpClass::kLoss, 3);
  const TimeAccount thrice = repeated(now, before, 3);
  EXPECT_EQ(time_of(thrice, OpClass::kLoss), 5 + 4 * 2);
  EXPECT_EQ(thrice.bytes[static_cast<std::size_t>(OpClass::kLoss)], 7U + 4 * 3);
  EXPECT_EQ(thrice.launch_count(), 1U + 4);
  EXPECT_EQ((now - before).total_ns(), 2);
  EXPECT_TRUE((now - before) + before == now);
}

}  // namespace
}  // namespace nb
