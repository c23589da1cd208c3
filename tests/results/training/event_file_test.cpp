// TensorBoard's event files.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "results/training/training_log.hpp"
#include "tests/results/training/sample_logs.hpp"

namespace nb {
namespace {

using namespace test;

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
  EXPECT_EQ(texts_of(read->ignored), (std::vector<std::string>{"1 values that are no scalars"}));
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
  EXPECT_EQ(text_of(read->ignored[0]).find("the last event, which is cut off"), 0u)
      << text_of(read->ignored[0]);
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
