#include <gtest/gtest.h>

#include <array>

#include "harness/base/check.hpp"
#include "model/collectives/communicator.hpp"
#include "model/collectives/cost.hpp"

namespace nb {
namespace {

TEST(SymmetricCommunicator, ChargesTheClosedForm) {
  Device device(*load_profile("tiny"), ExecutionMode::kDry, {.ranks = 8});
  const auto c = symmetric_communicator(device, 8);
  c->all_reduce({800, DType::kFp32}, Reduce::kAverage, "grads");
  EXPECT_EQ(device.time_ns(), 2 * 7 * (1 + 400));
  EXPECT_EQ(device.counters().link_bytes, 3200u);
  c->reduce_scatter({800, DType::kBf16}, {100, DType::kBf16}, Reduce::kSum, "grads");
  c->all_gather({100, DType::kBf16}, {800, DType::kBf16}, "weights");
  EXPECT_EQ(device.time_ns(), 2 * 7 * (1 + 400) + 2 * 7 * (1 + 200));
  c->broadcast({8, DType::kFp32}, 0, "seed");
  c->barrier("end");
  EXPECT_GT(device.time_ns(), 2 * 7 * (1 + 400) + 2 * 7 * (1 + 200));
}

TEST(SymmetricCommunicator, ACardAloneMovesItsValuesForNothing) {
  Device device(*load_profile("tiny"), ExecutionMode::kExecute);
  const auto c = symmetric_communicator(device, 1);
  std::array<float, 4> in = {1, 2, 3, 4}, out = {};
  c->all_reduce({std::span<float>(in), DType::kFp32}, Reduce::kAverage, "grads");
  c->reduce_scatter({std::span<float>(in), DType::kFp32}, {std::span<float>(out), DType::kFp32},
                    Reduce::kSum, "grads");
  EXPECT_EQ(in, out);
  EXPECT_EQ(device.time_ns(), 0);
}

TEST(SymmetricCommunicator, RefusesToStandForExecutingRanks) {
  Device device(*load_profile("tiny"), ExecutionMode::kExecute);
  EXPECT_THROW(symmetric_communicator(device, 2), CheckFailure);
}

TEST(SymmetricCommunicator, RefusesSizesThatDoNotDivide) {
  Device device(*load_profile("tiny"), ExecutionMode::kDry);
  const auto c = symmetric_communicator(device, 8);
  EXPECT_THROW(c->reduce_scatter({801, DType::kFp32}, {100, DType::kFp32}, Reduce::kSum, "x"),
               CheckFailure);
  EXPECT_THROW(c->all_gather({100, DType::kFp32}, {801, DType::kFp32}, "x"), CheckFailure);
  EXPECT_THROW(c->broadcast({1, DType::kFp32}, 8, "x"), CheckFailure);
}

}  // namespace
}  // namespace nb
