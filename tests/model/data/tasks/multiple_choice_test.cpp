#include "model/data/tasks/multiple_choice.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

constexpr const char* kArc =
    R"({"id": "Q_1", "question": "Why?", "choices": {"text": ["x", "y", "z"], "label": ["1", "2", "3"]}, "answerKey": "2"})";
constexpr const char* kMmlu =
    R"({"question": "Q", "subject": "s", "choices": ["a", "b", "c", "d"], "answer": 3})";

std::string arc_error(const std::string& text) {
  const auto items = parse_arc(text, "f.jsonl");
  return items ? "no error" : items.error().message;
}
std::string mmlu_error(const std::string& text) {
  const auto items = parse_mmlu(text, "f.jsonl");
  return items ? "no error" : items.error().message;
}
TEST(MultipleChoice, AsksWithTheLetterBehindEachChoice) {
  const auto items = parse_arc(kArc, "f.jsonl");
  ASSERT_TRUE(items.has_value()) << items.error().message;
  const Conversation conversation = conversation_of(items->front());
  EXPECT_EQ(all_text(conversation.messages[0]),
            "Multiple Choice question: Why?\n- x=1\n- y=2\n- z=3\n\nRespond only with the letter "
            "of the correct answer.");
  EXPECT_EQ(all_text(conversation.messages[1]), "2");
}

TEST(Arc, AcceptsByteOrderMarkAndWindowsLines) {
  const auto items = parse_arc("\xef\xbb\xbf" + std::string(kArc) + "\r\n\r\n", "f.jsonl");
  ASSERT_TRUE(items.has_value()) << items.error().message;
  EXPECT_EQ(items->size(), 1u);
  EXPECT_EQ(items->front().gold, 1u);
}

TEST(Arc, NamesFileLineAndWhatIsWrong) {
  const std::string good = std::string(kArc) + "\n";
  EXPECT_EQ(arc_error(""), "f.jsonl: no rows; expected one JSON value a line");
  EXPECT_EQ(arc_error(good + "[]"),
            "f.jsonl:2: expected an ARC row (an object with id, question, choices {text, label}, "
            "answerKey), got array");
  EXPECT_EQ(arc_error(good + R"({"id": "a", "question": "q"})"),
            "f.jsonl:2: \"answerKey\" is missing (a string); an ARC row has id, question, choices "
            "{text, label}, answerKey");
  EXPECT_EQ(arc_error(R"({"id": "a", "question": 5})"),
            "f.jsonl:1: \"question\" must be a string, got number");
  EXPECT_EQ(
      arc_error(
          R"({"id": "a", "question": "q", "choices": {"text": ["x"], "label": ["A", "B"]}, "answerKey": "A"})"),
      "f.jsonl:1: a: 1 texts of choices, but 2 labels");
  EXPECT_EQ(
      arc_error(
          R"({"id": "a", "question": "q", "choices": {"text": ["x"], "label": ["A"]}, "answerKey": "A"})"),
      "f.jsonl:1: a: 1 choices; a question needs at least 2");
  EXPECT_EQ(
      arc_error(
          R"({"id": "a", "question": "q", "choices": {"text": ["x", "y"], "label": ["A", "A"]}, "answerKey": "A"})"),
      "f.jsonl:1: a: the labels A, A must differ and not be empty");
  EXPECT_EQ(
      arc_error(
          R"({"id": "a", "question": "q", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "C"})"),
      "f.jsonl:1: a: answerKey is \"C\", but the labels are A, B");
  EXPECT_EQ(
      arc_error(R"({"id": "a", "question": "q", "choices": {"text": "x"}, "answerKey": "A"})"),
      "f.jsonl:1: choices: \"text\" must be a list of strings, got string");
  EXPECT_EQ(arc_error(good + good), "f.jsonl:2: id Q_1 appears twice");
  EXPECT_EQ(arc_error(good + "{\"id\": \"a\xff\"}"),
            "f.jsonl:2: byte 10 of the line (0xff) is not valid UTF-8; save the file as UTF-8");
  EXPECT_TRUE(arc_error(good + "{\"id\": ").starts_with("f.jsonl:2:")) << arc_error(good + "{");
}

TEST(Mmlu, HasFourChoicesAndAnAnswerAmongThem) {
  const auto items = parse_mmlu(kMmlu, "f.jsonl");
  ASSERT_TRUE(items.has_value()) << items.error().message;
  EXPECT_EQ(items->front().letters, (std::vector<std::string>{"A", "B", "C", "D"}));
  EXPECT_EQ(items->front().gold, 3u);
  EXPECT_EQ(mmlu_error(R"({"question": "Q", "subject": "s", "choices": ["a", "b"], "answer": 0})"),
            "f.jsonl:1: 2 choices; MMLU has 4");
  for (const char* answer : {"4", "-1"})
    EXPECT_EQ(mmlu_error(R"({"question": "Q", "subject": "s", "choices": ["a", "b", "c", "d"], )"
                         R"("answer": )" +
                         std::string(answer) + "}"),
              "f.jsonl:1: answer is " + std::string(answer) + ", but the choices are 0 to 3");
  EXPECT_EQ(mmlu_error(R"({"question": "Q", "subject": "s", "choices": ["a", "b", "c", "d"], )"
                       R"("answer": "D"})"),
            "f.jsonl:1: \"answer\" must be an integer, got string");
  EXPECT_EQ(mmlu_error(R"({"question": "Q", "subject": "s", "choices": ["a", "b", "c", "d"], )"
                       R"("answer": 18446744073709551615})"),
            "f.jsonl:1: \"answer\" is 18446744073709551615, too large");
}

TEST(Mmlu, UnwrapsRowsOfTheTrainingSplit) {
  const auto items = parse_mmlu("{\"train\": " + std::string(kMmlu) + "}", "f.jsonl");
  ASSERT_TRUE(items.has_value()) << items.error().message;
  EXPECT_EQ(items->front().id, parse_mmlu(kMmlu, "f.jsonl")->front().id);
}

TEST(Mmlu, QuestionsThatComeTwiceHaveTwoIds) {
  const auto items = parse_mmlu(std::string(kMmlu) + "\n" + kMmlu, "f.jsonl");
  ASSERT_TRUE(items.has_value()) << items.error().message;
  EXPECT_NE((*items)[0].id, (*items)[1].id);
}

TEST(MultipleChoice, ReadsEveryFileOfTheDataFolder) {
  NB_NEEDS_DATA();
  const auto data = test::data_dir();
  const std::vector<std::pair<const char*, std::size_t>> arc = {
      {"arc_easy_train", 2251},          {"arc_easy_validation", 570},
      {"arc_easy_test", 2376},           {"arc_challenge_train", 1119},
      {"arc_challenge_validation", 299}, {"arc_challenge_test", 1172}};
  for (const auto& [file, rows] : arc) {
    const auto items = read_arc(data / "arc/jsonl" / (std::string(file) + ".jsonl"));
    ASSERT_TRUE(items.has_value()) << items.error().message;
    EXPECT_EQ(items->size(), rows) << file;
  }
  for (const auto& [file, rows] : std::vector<std::pair<const char*, std::size_t>>{
           {"dev", 285}, {"validation", 1531}, {"test", 14042}}) {
    const auto items = read_mmlu(data / "mmlu/jsonl" / (std::string(file) + ".jsonl"));
    ASSERT_TRUE(items.has_value()) << items.error().message;
    EXPECT_EQ(items->size(), rows) << file;
    std::set<std::string> ids;
    for (const ChoiceItem& item : *items) ids.insert(item.id);
    EXPECT_EQ(ids.size(), rows) << file;
  }
}

}  // namespace
}  // namespace nb
