#include "model/data/tasks/spelling.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/data/tasks/gsm8k.hpp"
#include "model/data/tasks/spelling_templates.hpp"
#include "model/data/tasks/word_list.hpp"

namespace nb {
namespace {

const std::vector<std::string> kWords = {"strawberry", "banana", "a", "mississippi"};

TEST(SpellingBee, AnswerEndsInTheCount) {
  for (std::uint64_t index = 0; index < 200; ++index) {
    const SpellingBeeItem item = spelling_bee_item(kWords, SpellingSplit::kTest, index);
    const Conversation conversation = conversation_of(item);
    EXPECT_EQ(extract_answer(all_text(conversation.messages[1])), std::to_string(item.count));
    EXPECT_EQ(std::count(item.word.begin(), item.word.end(), item.letter), item.count);
    EXPECT_NE(item.question.find(item.word), std::string::npos) << item.question;
    EXPECT_EQ(item.question.find('{'), std::string::npos) << item.question;
  }
}

TEST(SpellingBee, CountsByHandBeforeItCalls) {
  SpellingBeeItem item;
  item.word = "add";
  item.letter = 'd';
  item.count = 2;
  const auto parts = conversation_of(item).messages[1].parts;
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[0].text,
            "We are asked to find the number 'd' in the word 'add'. Let me try a manual approach "
            "first.\n\nFirst spell the word out:\nadd:a,d,d\n\nThen count the occurrences of "
            "'d':\n1:a\n2:d hit! count=1\n3:d hit! count=2\n\nThis gives us 2.");
  EXPECT_EQ(parts[2], (MessagePart{PartKind::kPython, "'add'.count('d')"}));
  EXPECT_EQ(parts[3], (MessagePart{PartKind::kPythonOutput, "2"}));
}

TEST(SpellingBee, UntilDecemberTestWasTrainOnePlaceLater) {
  for (std::uint64_t index = 0; index < 20; ++index)
    EXPECT_EQ(spelling_bee_item(kWords, SpellingSplit::kTestUntil2025Dec, index).id,
              spelling_bee_item(kWords, SpellingSplit::kTrain, index + 1).id);
}

// Lower-casing is by bytes of ASCII, which suffices only while this holds.
TEST(SpellingBee, TemplatesHaveNoUpperCaseBeyondAscii) {
  EXPECT_EQ(kSpellingTemplates.size(), 51u);
  for (const std::string_view text : kSpellingTemplates) {
    for (const char* upper : {"Á", "É", "Í", "Ó", "Ú", "Ñ", "Ä", "Ö", "Ü", "Î", "Ç", "À", "È"})
      EXPECT_EQ(text.find(upper), std::string_view::npos) << text;
    EXPECT_NE(text.find("{letter}"), std::string_view::npos) << text;
    EXPECT_NE(text.find("{word}"), std::string_view::npos) << text;
  }
}

TEST(WordList, KeepsOrderAndNamesBadLines) {
  const auto words = parse_word_list("\xef\xbb\xbfzoo\r\nab\r\na", "w.txt");
  ASSERT_TRUE(words.has_value()) << words.error().message;
  EXPECT_EQ(*words, (std::vector<std::string>{"zoo", "ab", "a"}));
  const auto error = [](const char* text) {
    return parse_word_list(text, "w.txt").error().message;
  };
  EXPECT_EQ(error("a\n\nb"), "w.txt:2: an empty line; every line is a word");
  EXPECT_EQ(error("a\nIt's"), "w.txt:2: a word is one or more of a to z, lower case");
  EXPECT_EQ(error("a\nna\xc3\xafve"), "w.txt:2: a word is one or more of a to z, lower case");
  EXPECT_EQ(error(""), "w.txt: no words");
}

}  // namespace
}  // namespace nb
