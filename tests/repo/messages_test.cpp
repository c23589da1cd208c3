// The tables of messages and the tree: every sentence is said by somebody, and nobody reads one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "results/messages/message_table.hpp"
#include "tests/repo/source_tree.hpp"

namespace nb::test {
namespace {

std::vector<SourceFile> sources() {
  return source_files(std::array<std::string_view, 2>{".cpp", ".hpp"});
}

bool is_letter(unsigned char c) { return std::isalpha(c) != 0; }

bool is_table(const std::string& path) {
  return path.starts_with("results/messages/message_table") || path == "report/words_table.hpp";
}

TEST(Messages, EveryOneIsSaidBySomebody) {
  std::string code;
  for (const SourceFile& file : sources())
    if (!is_table(file.path) && !file.path.starts_with("tests/")) code += file.text;
  std::erase_if(code, [](unsigned char c) { return std::isspace(c) != 0; });
  std::vector<std::string> unused;
  for (const MessageRow& row : kMessages)
    if (row.key != "verbatim" &&
        code.find("(\"" + std::string(row.key) + "\"") == std::string::npos)
      unused.emplace_back(row.key);
  EXPECT_TRUE(unused.empty()) << "nobody says:\n" << lines(unused);
}

// A report that compared the English of a message lost it when it was reworded.
TEST(Messages, NoReportMatchesTheirEnglish) {
  constexpr std::size_t kShortest = 6;  // "equal" is a word of reports too
  std::vector<std::string> problems;
  for (const SourceFile& file : sources()) {
    if (is_table(file.path) || !file.path.starts_with("report/")) continue;
    for (const MessageRow& row : kMessages)
      if (static_cast<std::size_t>(std::ranges::count_if(row.en, is_letter)) >= kShortest &&
          file.text.find('"' + std::string(row.en) + '"') != std::string::npos)
        problems.push_back(file.path + ": \"" + std::string(row.en) + "\"");
  }
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

}  // namespace
}  // namespace nb::test
