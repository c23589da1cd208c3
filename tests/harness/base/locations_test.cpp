#include "harness/base/locations.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace nb {
namespace {

// Sets a variable (null: takes it away) for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* old = std::getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    set(value);
  }
  ~Variable() { set(had_ ? old_.c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) {
    value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, /*overwrite=*/1);
  }
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST(Locations, TheFlagGoesBeforeTheVariableBeforeTheDefault) {
  const Variable home("HOME", "/home/a");
  {
    const Variable data("NPUBENCH_DATA", "/data"), results("NPUBENCH_RESULTS", "/results");
    EXPECT_EQ(data_folder("given"), "given");
    EXPECT_EQ(data_folder(""), "/data");
    EXPECT_EQ(results_folder("given"), "given");
    EXPECT_EQ(results_folder(""), "/results");
  }
  for (const char* none : {static_cast<const char*>(nullptr), ""}) {
    const Variable data("NPUBENCH_DATA", none), results("NPUBENCH_RESULTS", none);
    EXPECT_EQ(data_folder(""), "/home/a/.cache/npubench/data");
    EXPECT_EQ(results_folder(""), "results/runs");
  }
}

}  // namespace
}  // namespace nb
