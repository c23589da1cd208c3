// Facts of the real files in the data folder's imports/expected.json, computed by a script that
// knows nothing of this project.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/foreign/foreign.hpp"

namespace nb::test {

using Json = nlohmann::json;

std::filesystem::path imports_dir();
bool has_imports();
// Entries of one list ("pairs", "tables", "files") whose file, or whose side a's file, begins so.
std::vector<Json> expected(const std::string& list, const std::string& beginning);

// One series of what lies under these files, read together as compare reads a path; an error where
// there is none of that name.
Result<ForeignSeries> series_of(const Json& files, const std::string& task,
                                const std::string& metric);
double mean_of(const ForeignSeries& series);

struct Counts {
  int both_right = 0, only_a = 0, only_b = 0, both_wrong = 0;
  int unpaired = 0;       // items of the smaller side
  int prompts_equal = 0;  // of the paired
  int targets_equal = 0;
};
// Items with equal ids.
Counts counts_of(const ForeignSeries& a, const ForeignSeries& b);

}  // namespace nb::test

#define NB_NEEDS_IMPORTS() \
  if (!nb::test::has_imports()) GTEST_SKIP() << "skipped: no data"
