#include "harness/doctor/visible_devices.hpp"

#include <gtest/gtest.h>

namespace nb::doctor {
namespace {

struct Row {
  const char* value;
  std::vector<int> ids;
  bool is_refused;
};

// hicann/runtime runtime.cc:4725-5066, on eight cards.
TEST(VisibleDevices, AreThoseThatTheRuntimeReads) {
  const std::vector<Row> rows = {
      {"0,1,2,3", {0, 1, 2, 3}, false},
      {"1, 2,3", {1}, false},
      {"0,1,", {0, 1}, false},
      {"", {}, true},
      {" 0,1", {}, true},
      {"0,1,2,3,4,5,6,7,7", {0, 1, 2, 3, 4, 5, 6, 7}, false},
      {"1,3,8", {1, 3}, false},
      {"0-3", {0}, false},
      {"0,,1", {0}, false},
      {"3,2", {}, true},
      {"1,2,2", {}, true},
      {"8", {}, true},
      {"0;1", {0}, false},
  };
  for (const Row& row : rows) {
    const VisibleDevices seen = visible_devices(row.value, 8);
    EXPECT_EQ(seen.ids, row.ids) << "\"" << row.value << "\"";
    EXPECT_EQ(seen.is_refused(), row.is_refused) << "\"" << row.value << "\"";
  }
}

TEST(VisibleDevices, NoMoreThan128CharactersAreRead) {
  std::string all = "0";
  for (int id = 1; id < 80; ++id) all += "," + std::to_string(id);
  const VisibleDevices seen = visible_devices(all, 100);
  EXPECT_LT(seen.ids.size(), 50U);
  EXPECT_EQ(seen.end, MaskEnd::kStopped);
}

TEST(VisibleDevices, LongDigitsAreACardThatIsNotThere) {
  EXPECT_EQ(visible_devices("0,99999999999999999999999", 8).ids, std::vector<int>{0});
}

}  // namespace
}  // namespace nb::doctor
