// Finds what a README promises: paths, and commands with their verbs and flags. For
// readme_test.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nb::test {

struct CodeSpan {
  std::size_t line = 0;
  std::string text;
  bool is_block = false;  // a line of a fenced block (continued lines joined)
};
std::vector<CodeSpan> code_spans(std::string_view markdown);

// What the promises are held against.
struct Project {
  std::function<bool(const std::string& path)> exists;          // from the root
  std::function<std::string(const std::string& path)> text_of;  // of an existing file
  std::function<std::string(const std::string& verb)> help_of;  // "": all verbs; "gate accept"
};

// One sentence for each promise that does not hold; `path`: of the README, from the root.
std::vector<std::string> readme_problems(const std::string& path, std::string_view markdown,
                                         const Project& project);

}  // namespace nb::test
