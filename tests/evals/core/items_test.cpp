#include "evals/core/items.hpp"

#include <gtest/gtest.h>

#include <set>

#include "harness/base/check.hpp"

namespace nb {
namespace {

using enum CoreTaskType;

std::string items_error(std::string_view text, CoreTaskType type) {
  const auto items = parse_core_items(text, type, "a.jsonl");
  return items ? "no error" : items.error().message;
}

TEST(CoreItems, RowsOfEachTypeAreRead) {
  const auto choice = parse_core_items(
      R"({"query": "q", "choices": ["a", "b"], "gold": 1, "row": 3})", kMultipleChoice, "a");
  ASSERT_TRUE(choice.has_value()) << choice.error().message;
  EXPECT_EQ(choice->front().query, "q");
  EXPECT_EQ(choice->front().choices, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(choice->front().gold, 1);
  const auto schema = parse_core_items(
      R"({"context_options": ["a", "b"], "continuation": "c", "gold": 0})", kSchema, "a");
  ASSERT_TRUE(schema.has_value()) << schema.error().message;
  EXPECT_EQ(schema->front().choices, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(schema->front().continuation, "c");
  const auto modelling =
      parse_core_items(R"({"context": "x", "continuation": "y"})", kLanguageModelling, "a");
  ASSERT_TRUE(modelling.has_value()) << modelling.error().message;
  EXPECT_EQ(modelling->front().query, "x");
  EXPECT_EQ(modelling->front().continuation, "y");
}

TEST(CoreItems, ByteOrderMarkCrlfAndBlankLinesAreAccepted) {
  const auto items = parse_core_items(
      "\xef\xbb\xbf{\"context\": \"a\", \"continuation\": \"b\"}\r\n\r\n  \n{\"context\": \"c\", "
      "\"continuation\": \"d\"}",
      kLanguageModelling, "a");
  ASSERT_TRUE(items.has_value()) << items.error().message;
  EXPECT_EQ(items->size(), 2u);
  EXPECT_EQ(items->back().continuation, "d");
}

TEST(CoreItems, ErrorsNameFileLineAndWhatIsWrong) {
  const std::string good = R"({"query": "q", "choices": ["a", "b"], "gold": 1})"
                           "\n";
  EXPECT_EQ(items_error(good + R"({"query": "q", "gold": 1})", kMultipleChoice),
            "a.jsonl:2: \"choices\" is missing (a list of strings); a multiple_choice row has "
            "query, choices, gold");
  EXPECT_EQ(items_error(good + good + R"({"query": "q", "choices": ["a", "b"], "gold": 2})",
                        kMultipleChoice),
            "a.jsonl:3: \"gold\" is 2, but the choices are 0 to 1");
  EXPECT_EQ(items_error(R"({"query": "q", "choices": ["a", "b"], "gold": -1})", kMultipleChoice),
            "a.jsonl:1: \"gold\" is -1, but the choices are 0 to 1");
  EXPECT_EQ(items_error(R"({"query": "q", "choices": ["a", "b"], "gold": 18446744073709551615})",
                        kMultipleChoice),
            "a.jsonl:1: \"gold\" is 18446744073709551615, too large");
  EXPECT_EQ(items_error(R"({"query": "q", "choices": ["a", "b"], "gold": "A"})", kMultipleChoice),
            "a.jsonl:1: \"gold\" must be an integer, got string");
  EXPECT_EQ(items_error(R"({"query": "q", "choices": ["a", 3], "gold": 0})", kMultipleChoice),
            "a.jsonl:1: \"choices\" must be a list of strings, got number");
  EXPECT_EQ(items_error(R"({"query": "q", "choices": ["a"], "gold": 0})", kMultipleChoice),
            "a.jsonl:1: \"choices\" has 1 entries; a choice needs at least 2");
  EXPECT_EQ(items_error(R"({"context": null, "continuation": "b"})", kLanguageModelling),
            "a.jsonl:1: \"context\" must be a string, got null");
  EXPECT_EQ(items_error(R"([1, 2])", kLanguageModelling),
            "a.jsonl:1: expected a language_modeling row (an object with context, continuation), "
            "got array");
  EXPECT_EQ(items_error("\n\n", kLanguageModelling),
            "a.jsonl: no rows; expected one JSON value a line");
}

TEST(CoreItems, BrokenJsonNamesLineAndColumn) {
  const std::string message = items_error(
      "{\"context\": \"a\", \"continuation\": \"b\"}\n{\"context\": \"a", kLanguageModelling);
  EXPECT_TRUE(message.starts_with("a.jsonl:2:15: ")) << message;
}

TEST(CoreItems, InvalidUtf8NamesTheByte) {
  EXPECT_EQ(items_error("{\"context\": \"\xff\", \"continuation\": \"b\"}", kLanguageModelling),
            "a.jsonl:1: byte 14 of the line (0xff) is not valid UTF-8; save the file as UTF-8");
}

TEST(CoreItems, MissingFileIsNamed) {
  const auto items = read_core_items("/nonexistent/rows.jsonl", kMultipleChoice);
  ASSERT_FALSE(items.has_value());
  EXPECT_NE(items.error().message.find("/nonexistent/rows.jsonl"), std::string::npos)
      << items.error().message;
}

TEST(CoreItems, IdsAreUniqueAndDependOnContentOnly) {
  const std::string a = R"({"context": "a", "continuation": "b"})",
                    b = R"({"continuation": "b", "context": "a2"})";
  const auto first = *parse_core_items(a + "\n" + b + "\n" + a, kLanguageModelling, "x");
  const auto second = *parse_core_items(b + "\n" + a, kLanguageModelling, "y");
  EXPECT_EQ(first[0].id, second[1].id);
  EXPECT_EQ(first[1].id, second[0].id);
  EXPECT_NE(first[0].id, first[2].id);  // the same row twice
  EXPECT_EQ(first[0].id.size(), 16u);
}

TEST(CoreItems, FieldBordersAreHashed) {
  const auto a =
      *parse_core_items(R"({"context": "ab", "continuation": "c"})", kLanguageModelling, "x");
  const auto b =
      *parse_core_items(R"({"context": "a", "continuation": "bc"})", kLanguageModelling, "x");
  EXPECT_NE(a[0].id, b[0].id);
}

// Printed by CPython 3.11: rows, shots, head of the shuffle, head of the draw for item 0.
struct Draw {
  const char* task;
  std::size_t rows;
  int shots;
  std::vector<std::size_t> shuffled;
  std::vector<std::size_t> examples;
};

const std::vector<Draw>& draws() {
  static const std::vector<Draw> table = {
      {"hellaswag", 10042, 10, {8547, 6745, 5202, 8796}, {7221, 1915, 123, 1486}},
      {"jeopardy", 2117, 10, {729, 1484, 1963, 771}, {1806, 479, 31, 372}},
      {"bigbench_qa_wikidata", 20321, 10, {1894, 11899, 11796, 19943}, {14442, 3829, 246, 2971}},
      {"arc_easy", 2376, 10, {1556, 952, 1988, 2351}, {1806, 479, 31, 372}},
      {"arc_challenge", 1172, 10, {343, 238, 983, 258}, {903, 240, 16, 186}},
      {"copa", 100, 0, {83, 17, 10, 9}, {}},
      {"commonsense_qa", 1221, 10, {1008, 921, 367, 870}, {903, 240, 16, 186}},
      {"piqa", 1838, 10, {882, 197, 1037, 519}, {1594, 903, 240, 16}},
      {"openbook_qa", 500, 0, {64, 427, 144, 443}, {}},
      {"lambada_openai", 5153, 0, {3957, 242, 4196, 452}, {}},
      {"winograd", 273, 0, {103, 59, 96, 270}, {}},
      {"winogrande", 1267, 0, {1044, 950, 1252, 544}, {}},
      {"bigbench_dyck_languages", 1000, 10, {239, 310, 101, 624}, {990, 797, 452, 120}},
      {"agi_eval_lsat_ar", 230, 3, {210, 23, 25, 153}, {200, 113, 30}},
      {"bigbench_cs_algorithms", 1320, 10, {144, 343, 621, 946}, {903, 240, 16, 186}},
      {"bigbench_operators", 210, 10, {197, 38, 123, 114}, {200, 113, 30, 2}},
      {"bigbench_repeat_copy_logic", 32, 10, {4, 17, 16, 0}, {31, 25, 15, 4}},
      {"squad", 10570, 10, {4033, 5750, 8368, 4238}, {7221, 1915, 123, 1486}},
      {"coqa", 7983, 0, {6355, 6354, 6442, 3703}, {}},
      {"boolq", 3270, 10, {1515, 2218, 1754, 355}, {3188, 1806, 479, 31}},
      {"bigbench_language_identification",
       10000,
       10,
       {6333, 7241, 1279, 8054},
       {7221, 1915, 123, 1486}},
  };
  return table;
}

TEST(CoreDraws, HeadsAreThoseOfTheReference) {
  for (const Draw& draw : draws()) {
    const auto kept = shuffled_and_cropped(draw.rows, 1337, -1);
    ASSERT_EQ(kept.size(), draw.rows) << draw.task;
    EXPECT_EQ(std::vector<std::size_t>(kept.begin(), kept.begin() + 4), draw.shuffled) << draw.task;
    auto examples = few_shot_positions(draw.rows, 0, draw.shots, 1234);
    ASSERT_EQ(examples.size(), static_cast<std::size_t>(draw.shots)) << draw.task;
    examples.resize(draw.examples.size());
    EXPECT_EQ(examples, draw.examples) << draw.task;
  }
}

TEST(CoreDraws, CroppingKeepsTheHeadOfTheShuffle) {
  const auto all = shuffled_and_cropped(100, 1337, -1), five = shuffled_and_cropped(100, 1337, 5);
  EXPECT_EQ(five, std::vector<std::size_t>(all.begin(), all.begin() + 5));
  EXPECT_EQ(shuffled_and_cropped(100, 1337, 1), std::vector<std::size_t>{all[0]});
  EXPECT_EQ(shuffled_and_cropped(100, 1337, 0), all);
  EXPECT_EQ(shuffled_and_cropped(3, 1337, 500).size(), 3u);
}

TEST(CoreDraws, AnItemIsNeverItsOwnExample) {
  for (std::size_t index = 0; index < 12; ++index) {
    const auto examples = few_shot_positions(12, index, 11, 1234);
    const std::set<std::size_t> distinct(examples.begin(), examples.end());
    EXPECT_EQ(distinct.size(), 11u);
    EXPECT_FALSE(distinct.contains(index)) << index;
  }
}

TEST(CoreDraws, MoreShotsThanOtherItemsIsOurMistake) {
  EXPECT_THROW(few_shot_positions(5, 0, 5, 1234), CheckFailure);
}

}  // namespace
}  // namespace nb
