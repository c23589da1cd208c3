#include "model/device/device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "harness/base/check.hpp"
#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

using test::profile;
using test::sample_op;

// A forward and a backward pass of every op, as a model would run them.
void run_all(Device& device) {
  std::vector<SavedBlocks> saved;
  const Tensor x = device.allocate({16, 64}, DType::kBf16, "x");
  for (OpDesc desc : test::sample_ops()) {
    if (test::is_collective(desc.kind)) continue;
    const Tensor y = device.allocate({16, 64}, DType::kBf16, "y");
    desc.saves_for_backward = true;
    desc.inputs = {&x};
    desc.output = &y;
    saved.push_back(device.run(desc, [] {}));
  }
  while (!saved.empty()) {
    device.run_backward(sample_op(OpKind::kAddBackward), std::move(saved.back()), [] {});
    saved.pop_back();
  }
  device.synchronize();
}

TEST(Device, DryAndExecutedRunsHaveTheSameTimeAndMemory) {
  for (const std::string& name : profile_names()) {
    Device dry(profile(name), ExecutionMode::kDry), real(profile(name), ExecutionMode::kExecute);
    run_all(dry);
    run_all(real);
    EXPECT_EQ(dry.time_ns(), real.time_ns()) << name;
    EXPECT_EQ(dry.memory(), real.memory()) << name;
    EXPECT_EQ(dry.counters(), real.counters()) << name;
    EXPECT_EQ(dry.memory().allocated_bytes, 0u) << name;
  }
}

TEST(Device, ArithmeticRunsInExecuteModeOnly) {
  int calls = 0;
  Device dry(profile("tiny"), ExecutionMode::kDry);
  dry.run(sample_op(OpKind::kAdd), [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  Device real(profile("tiny"), ExecutionMode::kExecute);
  real.run(sample_op(OpKind::kAdd), [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(Device, LinearOnTinyTakesItsFlops) {
  DeviceProfile p = profile("tiny");
  Device device(p, ExecutionMode::kDry);
  OpDesc desc = sample_op(OpKind::kLinear);
  desc.dtype = DType::kBf16;  // no cast
  device.run(desc, [] {});
  EXPECT_EQ(device.time_ns(), 2 * 16 * 64 * 64);
  EXPECT_EQ(device.counters().flops, 2.0 * 16 * 64 * 64);
}

TEST(Device, ManySmallOpsAreAsSlowAsTheHost) {
  DeviceProfile p = profile("tiny");
  p.launch.host_dispatch.value = 1000000;
  Device device(p, ExecutionMode::kDry);
  for (int i = 0; i < 10; ++i) device.run(sample_op(OpKind::kAdd), [] {});
  EXPECT_EQ(device.time_ns(), 10 * 1000000 + 16 * 64);
}

TEST(Device, EagerTakesLongerThanCompiledOnTheSameMachine) {
  DeviceProfile eager = profile("h100_sxm");
  eager.software.mode.value = SoftwareMode::kEager;
  Device a(eager, ExecutionMode::kDry), b(profile("h100_sxm"), ExecutionMode::kDry);
  run_all(a);
  run_all(b);
  EXPECT_GT(a.time_ns(), b.time_ns());
  EXPECT_GT(a.memory().peak_allocated_bytes, b.memory().peak_allocated_bytes);
}

TEST(Device, TemporariesAreFreedAndSavedBlocksKept) {
  Device device(profile("ascend_910b3"), ExecutionMode::kDry);
  OpDesc desc = sample_op(OpKind::kRmsNorm);
  device.run(desc, [] {});
  EXPECT_EQ(device.memory().allocated_bytes, 0u);
  // x.float() and its square (4608 B each), and the mean while the square is still there.
  EXPECT_EQ(device.memory().peak_allocated_bytes, 4608u + 4608u + 512u);
  desc.saves_for_backward = true;
  SavedBlocks saved = device.run(desc, [] {});
  // x_fp32 (4096 B) and rstd (64 B), each padded by 32 B and rounded to 512 B.
  EXPECT_EQ(saved.size_bytes(), 4608u + 512u);
  EXPECT_EQ(device.memory().allocated_bytes, saved.size_bytes());
  device.run_backward(sample_op(OpKind::kRmsNormBackward), std::move(saved), [] {});
  EXPECT_EQ(device.memory().allocated_bytes, 0u);
}

TEST(Device, OperandsThatTheStackKeepsOutliveTheirTensor) {
  Device device(profile("h100_sxm"), ExecutionMode::kDry);
  SavedBlocks saved;
  {
    Tensor x = device.allocate({16, 64}, DType::kBf16, "x");
    Tensor y = device.allocate({16, 64}, DType::kBf16, "y");
    OpDesc desc = sample_op(OpKind::kRmsNorm);
    desc.saves_for_backward = true;
    desc.inputs = {&x};
    desc.output = &y;
    saved = device.run(desc, [] {});
  }
  EXPECT_EQ(device.memory().allocated_bytes, 2048u + 512u);  // x and rstd
  saved.free();
  EXPECT_EQ(device.memory().allocated_bytes, 0u);
}

// torch.compile computes relu² again in backward; the product after it keeps no second copy.
TEST(Device, RecomputedOutputsAreNotKept) {
  Device device(profile("h100_sxm"), ExecutionMode::kDry);
  const Tensor h = device.allocate({16, 64}, DType::kBf16, "h");
  const Tensor s = device.allocate({16, 64}, DType::kBf16, "s");
  OpDesc desc = sample_op(OpKind::kReluSquared);
  desc.saves_for_backward = true;
  desc.inputs = {&h};
  desc.output = &s;
  EXPECT_EQ(device.run(desc, [] {}).size_bytes(), 2048u);  // h
  EXPECT_TRUE(s.is_recomputed());
  OpDesc product = sample_op(OpKind::kLinear);
  product.saves_for_backward = true;
  product.dtype = DType::kBf16;
  product.inputs = {&s};
  EXPECT_TRUE(device.run(product, [] {}).empty());
}

TEST(Device, HostBuffersAreAlignedAndRecycled) {
  Device device(profile("tiny"), ExecutionMode::kExecute);
  const float* first = nullptr;
  for (int step = 0; step < 3; ++step) {
    Tensor a = device.allocate({17, 3}, DType::kBf16, "a");
    Tensor b = device.allocate({1000}, DType::kFp32, "b");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.host().data()) % 64, 0u);
    EXPECT_EQ(b.host().size(), 1000u);
    if (step == 0) first = a.host().data();
    EXPECT_EQ(a.host().data(), first);
  }
  EXPECT_EQ(device.host_mallocs(), 2u);
}

TEST(Device, OutOfMemoryLeavesTheDeviceUsable) {
  Device device(profile("tiny"), ExecutionMode::kExecute);
  OpDesc desc = sample_op(OpKind::kSoftcapCrossEntropy);
  desc.rows = 1 << 16;
  desc.vocab = 1 << 16;
  EXPECT_THROW(device.run(desc, [] { FAIL(); }), OutOfMemory);
  EXPECT_EQ(device.memory().allocated_bytes, 0u);
  EXPECT_THROW(device.allocate({1ll << 40}, DType::kFp32, "x"), OutOfMemory);
  EXPECT_EQ(device.host_mallocs(), 0u);
  EXPECT_NO_THROW(device.run(sample_op(OpKind::kAdd), [] {}));
}

TEST(Device, CollectivesGoThroughACommunicator) {
  Device device(profile("tiny"), ExecutionMode::kDry);
  EXPECT_THROW(device.run(sample_op(OpKind::kAllReduce), [] {}), CheckFailure);
  EXPECT_THROW(device.run_collective(sample_op(OpKind::kAdd), 0, 1, 1), CheckFailure);
}

TEST(Device, LimiterTimesAddUpToTheBusyTime) {
  Device device(profile("tiny"), ExecutionMode::kDry);
  run_all(device);
  const DeviceCounters& c = device.counters();
  EXPECT_EQ(c.compute_limited_ns + c.memory_limited_ns + c.launch_limited_ns + c.link_limited_ns,
            device.time_ns());
}

}  // namespace
}  // namespace nb
