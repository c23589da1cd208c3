// Small files of other harnesses, written by hand, and what is read from them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.hpp"
#include "results/foreign/foreign.hpp"

namespace nb::test {

// Writes the files (path below a new folder, text) and reads the folder, or `only` of it. Error
// messages and notes come without the folder.
Result<ForeignResults> read_texts(const std::vector<std::pair<std::string, std::string>>& files,
                                  const std::string& only = "");
// "task[:filter]/metric value n[ primary]" of each series, in order; n: items, or those reported.
std::vector<std::string> series_lines(const ForeignRun& run);

}  // namespace nb::test
