#include "model/data/bits_per_byte.hpp"

#include <gtest/gtest.h>

#include "harness/base/check.hpp"

namespace nb {
namespace {

const std::vector<int> kBytes = {1, 4, 0, 2};  // id 2 is a special

TEST(BitsPerByte, DividesNatsByBytes) {
  BitsPerByte bits(kBytes);
  bits.add(std::vector<float>{0.5F, 1.25F, 7.0F, 9.0F, 0.25F}, std::vector<int>{0, 1, 2, -1, 3});
  EXPECT_EQ(bits.nats(), 2.0);
  EXPECT_EQ(bits.bytes(), 7);
  EXPECT_EQ(bits.targets(), 3);
  EXPECT_DOUBLE_EQ(*bits.value(), 0.41219858311113240);  // 2 / (7 ln 2), by bc with 50 digits
  EXPECT_DOUBLE_EQ(*bits.nats_per_token(), 2.0 / 3.0);
}

TEST(BitsPerByte, UniformGuessesOverBytesCostEightBits) {
  // 256 tokens of one byte, each with probability 1/256: 8 bits a byte up to the fp32 rounding of
  // ln 256.
  const std::vector<int> one_byte(256, 1);
  BitsPerByte bits(one_byte);
  for (int id = 0; id < 256; ++id)
    bits.add(std::vector<float>{5.5451774444795624F}, std::vector<int>{id});
  EXPECT_NEAR(*bits.value(), 8.0, 8.0 * 0x1p-24);
}

TEST(BitsPerByte, HasNoValueWithoutBytes) {
  BitsPerByte bits(kBytes);
  EXPECT_FALSE(bits.value());
  bits.add(std::vector<float>{3.0F, 3.0F}, std::vector<int>{2, -1});
  EXPECT_FALSE(bits.value());
  EXPECT_FALSE(bits.nats_per_token());
}

TEST(BitsPerByte, MergesRanks) {
  BitsPerByte one(kBytes), two(kBytes);
  one.add(std::vector<float>{0.5F}, std::vector<int>{0});
  two.add(std::vector<float>{1.5F}, std::vector<int>{1});
  one.merge(two);
  EXPECT_EQ(one.nats(), 2.0);
  EXPECT_EQ(one.bytes(), 5);
  EXPECT_EQ(one.targets(), 2);
}

TEST(BitsPerByte, RefusesWhatDoesNotFit) {
  BitsPerByte bits(kBytes);
  EXPECT_THROW(bits.add(std::vector<float>{1.0F}, std::vector<int>{4}), CheckFailure);
  EXPECT_THROW(bits.add(std::vector<float>{1.0F}, std::vector<int>{0, 1}), CheckFailure);
}

}  // namespace
}  // namespace nb
