#include "model/device/tensor.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "harness/base/check.hpp"
#include "model/device/device.hpp"
#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

TEST(Shape, CountsAndSplits) {
  const Shape s{2, 8, 64};
  EXPECT_EQ(s.count(), 1024);
  EXPECT_EQ(s.leading(), 16);
  EXPECT_EQ(s.last(), 64);
  EXPECT_EQ(s.text(), "(2, 8, 64)");
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ((Shape{5}).leading(), 1);
  EXPECT_NE(s, (Shape{2, 8, 65}));
}

TEST(Shape, RefusesNegativeAndOverflowingSizes) {
  EXPECT_THROW((Shape{2, -1}), CheckFailure);
  EXPECT_THROW((Shape{1ll << 32, 1ll << 32}), CheckFailure);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), CheckFailure);
  EXPECT_THROW((Shape{2})[1], CheckFailure);
}

TEST(Tensor, CountsTheBytesOfItsDtype) {
  Device device(test::profile("tiny"), ExecutionMode::kDry);
  EXPECT_EQ(device.allocate({3, 5}, DType::kBf16, "a").size_bytes(), 30u);
  EXPECT_EQ(device.allocate({3, 5}, DType::kHf32, "a").size_bytes(), 60u);
}

TEST(Tensor, MoveTakesBlockAndBuffer) {
  Device device(test::profile("tiny"), ExecutionMode::kExecute);
  Tensor a = device.allocate({4, 4}, DType::kFp32, "a");
  a.host()[5] = 7;
  const std::uint64_t allocated = device.memory().allocated_bytes;
  Tensor b = std::move(a);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(b.matrix().row(1)[1], 7);
  EXPECT_EQ(device.memory().allocated_bytes, allocated);
  b = Tensor();
  EXPECT_EQ(device.memory().allocated_bytes, 0u);
}

TEST(Tensor, ValuesOnlyOutliveTheDevicesMemory) {
  Device device(test::profile("tiny"), ExecutionMode::kExecute);
  Tensor a = device.allocate({4}, DType::kFp32, "a");
  a.host()[0] = 3;
  const Tensor values = a.values_only();
  a = {};
  EXPECT_EQ(device.memory().allocated_bytes, 0u);
  EXPECT_EQ(values.host()[0], 3);
  EXPECT_FALSE(values.has_block());
}

TEST(Tensor, CopiesAreTheSameTensor) {
  Device device(test::profile("tiny"), ExecutionMode::kExecute);
  Tensor a = device.allocate({4}, DType::kFp32, "a");
  Tensor b = a;
  a.host()[0] = 3;
  EXPECT_EQ(std::as_const(b).host()[0], 3);
  const std::uint64_t bytes = device.memory().allocated_bytes;
  a = {};
  EXPECT_EQ(device.memory().allocated_bytes, bytes);
  b = {};
  EXPECT_EQ(device.memory().allocated_bytes, 0u);
}

TEST(Tensor, WithoutHostValuesRefusesAView) {
  Device dry(test::profile("tiny"), ExecutionMode::kDry);
  Tensor a = dry.allocate({4}, DType::kFp32, "a");
  EXPECT_TRUE(a.host().empty());
  EXPECT_THROW(a.matrix(), CheckFailure);
}

TEST(Tensor, TakesHostMemoryWhenItIsTouchedInTheFormatOfThat) {
  Device device(test::profile("tiny"), ExecutionMode::kExecute);
  const std::size_t before = device.host_mallocs();
  Tensor a = device.allocate({4}, DType::kFp32, "a"), b = device.allocate({4}, DType::kBf16, "b");
  EXPECT_EQ(device.host_mallocs(), before);
  EXPECT_EQ(a.host().size(), 4U);
  EXPECT_TRUE(a.bf16().empty());
  EXPECT_EQ(b.bf16().size(), 4U);
  EXPECT_TRUE(b.host().empty());
  EXPECT_THROW(b.matrix(), CheckFailure);
  EXPECT_EQ(device.host_mallocs(), before + 2);
}

}  // namespace
}  // namespace nb
