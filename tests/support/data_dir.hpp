// Where the public data lies for tests: NPUBENCH_DATA, else ../shared/data beside the checkout,
// else the default of the program; empty when there is none.
#pragma once

#include <filesystem>

namespace nb::test {

std::filesystem::path data_dir();

}  // namespace nb::test

// First line of a test that needs the data.
#define NB_NEEDS_DATA() \
  if (::nb::test::data_dir().empty()) GTEST_SKIP() << "skipped: no data"
