// Nothing in the project depends on a folder of somebody's machine.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/repo/source_tree.hpp"

namespace nb::test {
namespace {

std::vector<std::string> machine_path_problems(const std::vector<SourceFile>& files) {
  constexpr std::array<std::string_view, 6> kRoots = {"/work/", "/tmp/",   "/root/",
                                                      "/home/", "/Users/", "/mnt/"};
  std::vector<std::string> problems;
  for (const SourceFile& file : files) {
    if (file.path.starts_with("tests/")) continue;
    for (const std::string_view root : kRoots) {
      for (auto at = file.text.find(root); at != file.text.npos;
           at = file.text.find(root, at + 1)) {
        // "network/work/x" is a relative path or a word, "/work/x" is the offender.
        const char before = at == 0 ? ' ' : file.text[at - 1];
        if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '.' || before == '}')
          continue;
        problems.push_back(file.path + ":" + std::to_string(line_of(file.text, at)) + ": names " +
                           std::string(root) + ", a folder of one machine");
      }
    }
  }
  return problems;
}

TEST(MachinePaths, AreNotInTheProject) {
  constexpr std::array<std::string_view, 9> kEndings = {
      ".hpp", ".cpp", ".txt", ".json", ".md", ".sh", ".cmake", ".py", "Dockerfile"};
  const auto problems = machine_path_problems(source_files(kEndings));
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

TEST(MachinePaths, OneIsNamedWithItsLine) {
  const auto problems = machine_path_problems(
      {{"evals/x.cpp", "a\nconst char* p = \"/work/data\";\n// the network/work/share"}});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0], "evals/x.cpp:2: names /work/, a folder of one machine");
}

}  // namespace
}  // namespace nb::test
