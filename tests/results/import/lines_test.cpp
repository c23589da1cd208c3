#include "results/foreign/lines.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// Lines as they were handed out, and the error if any, without the folder.
std::pair<std::vector<Json>, std::string> lines_of(const std::string& text) {
  const test::TempDir folder;
  EXPECT_TRUE(write_file(folder / "a.jsonl", text));
  std::vector<Json> lines;
  const auto read =
      for_each_json_line(folder / "a.jsonl", [&](const Json& line, const std::string&) {
        lines.push_back(line);
        return Result<void>{};
      });
  if (read) return {lines, ""};
  return {lines, read.error().message.substr(folder.path().string().size() + 1)};
}

TEST(JsonLines, AreWhatTheWholeParserMakesOfThem) {
  // The fast path must give the same values and types as json_io: sign, exponents, escapes, depth.
  const std::vector<std::string> texts = {
      R"({"b": [1, -1, 0, 18446744073709551615, 1e3, -0.5, 1.7976931348623157e308]})",
      R"({"s": "tab\t é \u00e9 \ud83d\ude00 \"x\"", "n": null, "t": true, "f": false})",
      R"([[], {}, [[{"a": [{}]}]]])", R"("text alone")", R"(12345678901234567890123)"};
  for (const std::string& text : texts) {
    const auto [lines, error] = lines_of(text + "\n");
    ASSERT_EQ(lines.size(), 1u) << error;
    const Json whole = *parse_json(text, "x");
    EXPECT_EQ(lines[0], whole) << text;
    EXPECT_EQ(lines[0].dump(), whole.dump()) << text;
  }
}

TEST(JsonLines, LongerThanTheBufferAndWithoutANewlineAtTheEnd) {
  const std::string longer(3 << 20, 'x');
  const auto [lines, error] =
      lines_of("\xEF\xBB\xBF{\"a\": \"" + longer + "\"}\r\n\n  \n{\"b\": 1}");
  EXPECT_EQ(error, "");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["a"].get<std::string>().size(), longer.size());
  EXPECT_EQ(lines[1]["b"], 1);
}

TEST(JsonLines, MistakesAreNamedWithLineAndColumn) {
  EXPECT_EQ(lines_of("{\"a\": 1}\n{\"b\": \"NaN\", \"a\": NaN}\n").second,
            "a.jsonl:2:19: a score is not a number (NaN or infinite), which is no JSON; put null "
            "there to leave it out");
  EXPECT_EQ(lines_of("{}\n\n{\"a\": 1, \"a\": 2}\n").second,
            "a.jsonl:3:10: key \"a\" appears twice in one object");
  EXPECT_TRUE(lines_of("{\"a\": 1}\n{\"a\": \"cut of").second.starts_with("a.jsonl:2:"));
  EXPECT_TRUE(lines_of(std::string(500, '[')).second.find("nested deeper than 200") !=
              std::string::npos);
  EXPECT_TRUE(lines_of("{\"a\": \"\xff\"}\n").second.starts_with("a.jsonl:1:"));
}

TEST(JsonLines, NotNumbersCanBeTexts) {
  const test::TempDir folder;
  ASSERT_TRUE(
      write_file(folder / "a.json", R"({"a": [NaN, -Infinity, -1, "x NaN"], "b": Infinity})"));
  const auto json = read_foreign_json(folder / "a.json", NotNumbers::kAsTexts);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->dump(), R"({"a":["NaN","-Infinity",-1,"x NaN"],"b":"Infinity"})");
  EXPECT_TRUE(is_not_number(json->at("b")));
  EXPECT_FALSE(is_not_number(json->at("a")[3]));
}

}  // namespace
}  // namespace nb
