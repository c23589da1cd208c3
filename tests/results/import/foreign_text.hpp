// Small files of other harnesses, written by hand, and what is read from them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.hpp"
#include "results/import/foreign.hpp"

namespace nb::test {

// Writes the files (path below a new folder, text) and reads the folder, or `only` of it. Error
// messages and notes come without the folder.
Result<ForeignResults> read_texts(const std::vector<std::pair<std::string, std::string>>& files,
                                  const std::string& only = "");
// "task[:filter]/metric value n[ primary]" of each series, in order; n: items, or those reported.
std::vector<std::string> series_lines(const ForeignRun& run);

// The text as gzip packs it, and in UTF-16 (little endian, with its mark) as PowerShell writes it.
std::string gzip_of(const std::string& text);
std::string utf16_of(const std::string& utf8);

}  // namespace nb::test
