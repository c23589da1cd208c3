#include "evals/humaneval/items.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "harness/base/gzip.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

std::string row(const std::string& task_id, const std::string& entry_point = "f") {
  return R"({"task_id": ")" + task_id + R"(", "prompt": "def f():\n", "entry_point": ")" +
         entry_point + R"(", "canonical_solution": "    pass", "test": "def check(c):\n  pass"})";
}

std::string error_of(const std::string& text) {
  const auto problems = parse_humaneval(text, "h.jsonl");
  return problems ? "" : problems.error().message;
}

TEST(HumanEvalItems, AcceptsByteOrderMarkCrlfAndBlankLines) {
  const auto problems =
      parse_humaneval("\xef\xbb\xbf" + row("A/0") + "\r\n\r\n" + row("A/1") + "\r\n", "h.jsonl");
  ASSERT_TRUE(problems) << problems.error().message;
  ASSERT_EQ(problems->size(), 2U);
  EXPECT_EQ((*problems)[1].task_id, "A/1");
  EXPECT_EQ((*problems)[0].id.size(), 16U);
  EXPECT_NE((*problems)[0].id, (*problems)[1].id);
}

TEST(HumanEvalItems, NamesWhatIsMissingWithFileAndLine) {
  EXPECT_EQ(error_of(row("A/0") + "\n{\"task_id\": \"A/1\"}"),
            "h.jsonl:2: \"prompt\" is missing (a string); a HumanEval row has task_id, prompt, "
            "entry_point, "
            "canonical_solution, test");
}

TEST(HumanEvalItems, RefusesDoubledIds) {
  EXPECT_EQ(error_of(row("A/0") + "\n" + row("A/0")),
            "h.jsonl:2: task_id \"A/0\" already exists (h.jsonl:1)");
}

TEST(HumanEvalItems, RefusesAnEntryPointThatIsCode) {
  EXPECT_NE(error_of(row("A/0", "f); import os; (f")).find("cannot be the name of a function"),
            std::string::npos);
}

TEST(HumanEvalItems, RefusesAnEmptyFile) {
  EXPECT_NE(error_of("\n\n").find("no rows"), std::string::npos);
}

TEST(HumanEvalItems, NamesBytesThatAreNoUtf8) {
  EXPECT_NE(error_of("{\"task_id\": \"\xff\"}").find("h.jsonl:1: byte 14"), std::string::npos);
}

TEST(Gzip, UnpacksAndNamesWhatIsBroken) {
  // printf 'hello\n' | gzip -n
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06"
      "\x00\x00\x00",
      26);
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "whole.gz", packed));
  ASSERT_TRUE(write_file(folder / "cut.gz", packed.substr(0, 15)));
  ASSERT_TRUE(write_file(folder / "plain", "hello\n"));
  EXPECT_EQ(read_text_or_gzip(folder / "whole.gz").value(), "hello\n");
  EXPECT_EQ(read_text_or_gzip(folder / "plain").value(), "hello\n");
  const auto cut = read_text_or_gzip(folder / "cut.gz");
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("cut.gz: not a complete gzip file"), std::string::npos);
}

}  // namespace
}  // namespace nb
