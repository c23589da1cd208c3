// A small file of every format, written by hand: what the fuzzer (tests/fuzz) starts from.
#pragma once

#include <string>
#include <vector>

namespace nb::test {

struct CorpusFile {
  std::string format;  // its name in import_formats()
  std::string name;    // path below a folder
  std::string bytes;
};
std::vector<CorpusFile> format_corpus();

}  // namespace nb::test
