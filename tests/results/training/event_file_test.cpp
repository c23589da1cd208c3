// TensorBoard's event files. The bytes were made by a program of its own (struct, CRC-32C bit by
// bit), not by the reader's code.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "results/training/training_log.hpp"

namespace nb {
namespace {

// Steps 0, 10, 20: train/loss (simple_value) 10.5, 6.25, 5; train/lr (double in tensor_content)
// .001 (step + 1); at 20 eval/loss (float_val of a tensor) 5.125 and a histogram.
constexpr std::string_view kHex =
    "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d3a0000000000"
    "00001295eae20900000040fc54d94110002a2d0a110a0a747261696e2f6c6f737315000028410a180a0874726169"
    "6e2f6c72420c08022208fca9f1d24d62503fc4ba9d863a000000000000001295eae20900008042fc54d941100a2a"
    "2d0a110a0a747261696e2f6c6f7373150000c8400a180a08747261696e2f6c72420c08022208ba490c022b87863f"
    "941fa6ce3a000000000000001295eae20900000045fc54d94110142a2d0a110a0a747261696e2f6c6f7373150000"
    "a0400a180a08747261696e2f6c72420c080222081b2fdd240681953fcbcb28293200000000000000241956ec0900"
    "000045fc54d94110142a250a230a096576616c2f6c6f73734209080112002d0000a4404a0b0a090a077363616c61"
    "72730f66e2d81c00000000000000c8c1951d0900000045fc54d94110142a0f0a0d0a09686973746f6772616d2a00"
    "459a1499";

std::string event_bytes() {
  std::string bytes;
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < kHex.size(); i += 2)
    bytes += static_cast<char>(nibble(kHex[i]) * 16 + nibble(kHex[i + 1]));
  return bytes;
}

TEST(EventFile, ScalarsOfAllFormsAreColumns) {
  const std::string bytes = event_bytes();
  const LogText log{bytes, "events.out.tfevents.1.h"};
  ASSERT_NE(training_format_of(log), nullptr);
  EXPECT_STREQ(training_format_of(log)->name, "TensorBoard event file");
  const auto read = read_event_file(log);
  ASSERT_TRUE(read) << read.error().message;
  const Curve& curve = read->trainings.at(0).curve;
  EXPECT_EQ(curve.steps, (std::vector<std::int64_t>{0, 10, 20}));
  ASSERT_NE(curve.find("train_loss"), nullptr);
  EXPECT_EQ(curve.find("train_loss")->values, (std::vector<double>{10.5, 6.25, 5}));
  EXPECT_EQ(curve.find("train_loss")->direction, Direction::kLower);
  ASSERT_NE(curve.find("learning_rate"), nullptr);
  EXPECT_NEAR(curve.find("learning_rate")->values[2], .021, 1e-12);
  ASSERT_NE(curve.find("val_loss"), nullptr);
  EXPECT_TRUE(std::isnan(curve.find("val_loss")->values[1]));
  EXPECT_EQ(curve.find("val_loss")->values[2], 5.125);
  EXPECT_EQ(read->ignored, (std::vector<std::string>{"1 values that are no scalars"}));
}

TEST(EventFile, ADamagedByteIsOneSentenceWithItsPlace) {
  const std::string whole = event_bytes();
  for (std::size_t at = 60; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    const auto read = read_event_file({bytes, "e"});
    // A length may now reach beyond the end only where its checksum is wrong as well.
    ASSERT_FALSE(read) << at;
    EXPECT_EQ(read.error().message.find("e: byte "), 0u) << read.error().message;
  }
}

TEST(EventFile, ALastEventThatIsCutOffIsLeftOutAndSaid) {
  const std::string whole = event_bytes();
  const auto read = read_event_file({std::string_view(whole).substr(0, whole.size() - 3), "e"});
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_FALSE(read->ignored.empty());
  EXPECT_EQ(read->ignored[0].find("the last event, which is cut off"), 0u) << read->ignored[0];
  EXPECT_EQ(read->trainings.at(0).curve.steps.size(), 3u);
}

TEST(EventFile, EveryPrefixIsReadOrRefusedInOneSentence) {
  const std::string whole = event_bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = read_event_file({std::string_view(whole).substr(0, size), "e"});
    EXPECT_TRUE(read || !read.error().message.empty());
  }
}

}  // namespace
}  // namespace nb
