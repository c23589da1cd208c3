#include "model/data/tasks/gsm8k.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

using Parts = std::vector<MessagePart>;
constexpr auto kText = PartKind::kText;
constexpr auto kPython = PartKind::kPython;
constexpr auto kOutput = PartKind::kPythonOutput;

TEST(Gsm8k, CutsTheAnswerAtItsCalls) {
  EXPECT_EQ(answer_parts("a <<1+2=3>>3 b\n#### 3"),
            (Parts{{kText, "a "}, {kPython, "1+2"}, {kOutput, "3"}, {kText, "3 b\n#### 3"}}));
  EXPECT_EQ(answer_parts("<<1=1>><<2=2>>"), (Parts{{kText, ""},
                                                   {kPython, "1"},
                                                   {kOutput, "1"},
                                                   {kText, ""},
                                                   {kPython, "2"},
                                                   {kOutput, "2"},
                                                   {kText, ""}}));
  EXPECT_EQ(answer_parts("<<x=1=2>>"),
            (Parts{{kText, ""}, {kPython, "x=1"}, {kOutput, "2"}, {kText, ""}}));
  EXPECT_EQ(answer_parts("<<12>>"),
            (Parts{{kText, ""}, {kPython, "12"}, {kOutput, ""}, {kText, ""}}));
  EXPECT_EQ(answer_parts("a <<<5=5>>"),
            (Parts{{kText, "a "}, {kPython, "<5"}, {kOutput, "5"}, {kText, ""}}));
  for (const char* none : {"", "no call", "<<>>", "<<1=1>", "<<1>2=3>>x", "1 << 2"})
    EXPECT_EQ(answer_parts(none), (Parts{{kText, none}})) << none;
}

TEST(Gsm8k, TakesTheFirstMarkedNumberWithoutCommas) {
  EXPECT_EQ(extract_answer("#### 18"), "18");
  EXPECT_EQ(extract_answer("so\n#### -1,234.50 dollars"), "-1234.50");
  EXPECT_EQ(extract_answer("#### 18."), "18.");
  EXPECT_EQ(extract_answer("#### x #### 7 #### 8"), "7");
  EXPECT_EQ(extract_answer("##### 5"), "5");
  EXPECT_EQ(extract_answer("#### ,"), "");
  for (const char* none : {"", "18", "####18", "#### $18", "#### -", "#### --5", "####\t5"})
    EXPECT_EQ(extract_answer(none), std::nullopt) << none;
}

TEST(Gsm8k, ComparesAnswersAsTexts) {
  EXPECT_TRUE(is_right_answer("#### 1,000", "… #### 1000"));
  EXPECT_FALSE(is_right_answer("#### 18.0", "#### 18"));
  EXPECT_FALSE(is_right_answer("eighteen", "#### 18"));
}

TEST(Gsm8k, MarksTheLastLineOfStoredSolutions) {
  EXPECT_EQ(with_marked_answer("x\nA: 5"), "x\n#### 5");
  EXPECT_EQ(with_marked_answer("A: 5"), "#### 5");
  EXPECT_EQ(with_marked_answer("A: 5\nno"), "A: 5\nno");
  EXPECT_EQ(with_marked_answer("x\nB: 5"), "x\nB: 5");
  EXPECT_EQ(with_marked_answer(""), "");
}

TEST(Gsm8k, NamesTheLineWithoutAnAnswer) {
  const auto items = parse_gsm8k(
      "{\"question\": \"q\", \"answer\": \"#### 1\"}\n{\"question\": \"q\", "
      "\"answer\": \"1\"}\n",
      "f.jsonl");
  ASSERT_FALSE(items.has_value());
  EXPECT_EQ(items.error().message, "f.jsonl:2: the answer does not end in a line like \"#### 72\"");
}

TEST(Gsm8k, ReproducesAllLabelsOfTheExampleSolutions) {
  NB_NEEDS_DATA();
  const auto folder = test::data_dir() / "gsm8k";
  const auto items = read_gsm8k(folder / "test.jsonl");
  ASSERT_TRUE(items.has_value()) << items.error().message;
  ASSERT_EQ(items->size(), 1319u);
  // JSON Lines {question, <model>: {is_correct, solution}, …}
  std::istringstream lines(*read_file(folder / "example_model_solutions.jsonl"));
  const std::vector<std::pair<const char*, int>> labelled_right = {{"6b_finetuning", 286},
                                                                   {"6b_verification", 515},
                                                                   {"175b_finetuning", 458},
                                                                   {"175b_verification", 742}};
  std::map<std::string, int> right;
  std::size_t row = 0;
  for (std::string line; std::getline(lines, line); ++row) {
    const Json solved = Json::parse(line);
    ASSERT_LT(row, items->size());
    ASSERT_EQ((*items)[row].question, solved["question"]) << row;
    for (const auto& [model, count] : labelled_right) {
      const auto text = solved[model]["solution"].get<std::string>();
      const bool is_right = is_right_answer(with_marked_answer(text), (*items)[row].answer);
      EXPECT_EQ(is_right, solved[model]["is_correct"].get<bool>()) << row + 1 << ", " << model;
      right[model] += is_right ? 1 : 0;
    }
  }
  EXPECT_EQ(row, items->size());
  for (const auto& [model, count] : labelled_right) EXPECT_EQ(right[model], count) << model;
}

TEST(Gsm8k, ReadsTheTrainingRows) {
  NB_NEEDS_DATA();
  const auto items = read_gsm8k(test::data_dir() / "gsm8k" / "train.jsonl");
  ASSERT_TRUE(items.has_value()) << items.error().message;
  EXPECT_EQ(items->size(), 7473u);
}

}  // namespace
}  // namespace nb
