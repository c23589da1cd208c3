// Text reaches stdout and stderr through harness/base/say.hpp alone, which makes it harmless.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/repo/source_tree.hpp"

namespace nb::test {
namespace {

std::vector<std::string> output_problems(const std::vector<SourceFile>& files) {
  constexpr std::array<std::string_view, 8> kPrints = {"fmt::print(", "std::cout", "std::cerr",
                                                       "std::puts(",  "printf(",   ", stdout)",
                                                       ", stderr)",   "putchar("};
  std::vector<std::string> problems;
  for (const SourceFile& file : files) {
    // Our own programs that measure print numbers of ours.
    if (file.path.starts_with("tests/") || file.path.starts_with("harness/microbench/") ||
        file.path == "harness/base/say.cpp")
      continue;
    const std::string code = code_only(file.text);
    for (const std::string_view print : kPrints)
      for (auto at = code.find(print); at != code.npos; at = code.find(print, at + 1)) {
        const std::string_view before = std::string_view(code).substr(0, at);
        if (before.ends_with("fflush(") || before.ends_with("ferror(") || before.ends_with("sn"))
          continue;
        problems.push_back(file.path + ":" + std::to_string(line_of(code, at)) + ": " +
                           std::string(print) + " prints past harness/base/say.hpp");
      }
  }
  return problems;
}

TEST(Output, GoesThroughOneDoor) {
  constexpr std::array<std::string_view, 2> kEndings = {".hpp", ".cpp"};
  const auto problems = output_problems(source_files(kEndings));
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

TEST(Output, AnotherDoorIsNamedWithItsLine) {
  const auto problems = output_problems({{"harness/cli/x.cpp", "a\nfmt::print(\"{}\", name);\n"}});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0], "harness/cli/x.cpp:2: fmt::print( prints past harness/base/say.hpp");
}

}  // namespace
}  // namespace nb::test
