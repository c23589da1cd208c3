// The project's own files, for tests that read its sources. Not for tests of behaviour.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nb::test {

struct SourceFile {
  std::string path;  // from the root of the project, with '/'
  std::string text;
};

// All files under harness, model, evals, suites, results, report and tests with one of the endings
// (".cpp"), sorted by path; without what runs write.
std::vector<SourceFile> source_files(std::span<const std::string_view> endings);

// "results/runs/smoke": runs and nights are written there.
bool is_of_runs(std::string_view path);

// The same length and lines, with comments and the contents of literals blanked.
std::string code_only(std::string_view text);

std::size_t line_of(std::string_view text, std::size_t offset);  // from 1

// One line each, for a test's message.
std::string lines(const std::vector<std::string>& problems);

}  // namespace nb::test
