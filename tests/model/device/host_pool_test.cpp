#include "model/device/host_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace nb {
namespace {

TEST(HostPool, SameSizesAreMadeOnce) {
  HostPool pool;
  for (int step = 0; step < 5; ++step) {
    std::vector<float*> buffers;
    for (const std::size_t count : {100u, 5000u, 100u, 0u, 40u})
      buffers.push_back(pool.take(count));
    for (float* buffer : buffers) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 64, 0u);
      pool.give(buffer);
    }
  }
  EXPECT_EQ(pool.mallocs(), 5u);
}

TEST(HostPool, LargerBufferServesUpToTwiceTheSize) {
  HostPool pool;
  float* large = pool.take(1792);
  pool.give(large);
  EXPECT_EQ(pool.take(896), large);
  pool.give(large);
  float* small = pool.take(768);  // 1792 is more than twice that
  EXPECT_NE(small, large);
  pool.give(small);
}

TEST(HostPool, NearlyEqualShapesUseTheSameBuffer) {
  HostPool pool;
  float* buffer = pool.take(1580 * 256);
  for (const std::size_t rows : {1700u, 1792u, 1537u}) {
    pool.give(buffer);
    EXPECT_EQ(pool.take(rows * 256), buffer) << rows;
  }
  EXPECT_EQ(pool.mallocs(), 1u);
  pool.give(buffer);
}

// An optimizer's state took what activations left in the first step, so the second step made more.
TEST(HostPool, WhatIsToLastTakesNothingThatOthersLeft) {
  HostPool pool;
  float* passing = pool.take(800);
  pool.give(passing);
  float* lasting = pool.make(800);
  EXPECT_NE(lasting, passing);
  EXPECT_EQ(pool.take(800), passing);
  EXPECT_EQ(pool.mallocs(), 2u);
  pool.give(lasting);
  pool.give(passing);
}

// An evaluation: other shapes with every batch, sixteen tensors alive at once.
TEST(HostPool, ChangingShapesHoldAtMostTwiceWhatWasInUse) {
  HostPool pool;
  std::size_t most = 0;
  for (std::size_t batch = 1; batch <= 400; ++batch) {
    const std::size_t count = 1000 + (batch * 7919) % 60000;
    std::vector<float*> buffers;
    for (std::size_t i = 1; i <= 16; ++i) buffers.push_back(pool.take(count * i));
    std::size_t in_use = 0;
    for (std::size_t i = 1; i <= 16; ++i) in_use += (count * i + 15) / 16 * 16;
    most = std::max(most, 2 * in_use);  // a buffer may be twice as large as asked for
    for (float* buffer : buffers) pool.give(buffer);
    EXPECT_LE(pool.held_floats(), 2 * most);
  }
}

TEST(HostPool, WholeBufferCanBeWritten) {
  HostPool pool;
  for (const std::size_t count : {1u, 15u, 16u, 17u, 1000u}) {
    float* buffer = pool.take(count);
    for (std::size_t i = 0; i < count; ++i) buffer[i] = 1.0f;
    pool.give(buffer);
  }
}

}  // namespace
}  // namespace nb
