#include "model/data/microworld_chat.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "harness/base/hash.hpp"
#include "model/data/microworld_chat_parts.hpp"
#include "model/data/tasks/preference.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "model/tokenizer/train_tokenizer.hpp"
#include "tests/model/data/microworld_truth.hpp"

namespace nb {
namespace {

constexpr const char* kChoiceTasks[] = {"mw/arc_easy", "mw/arc_challenge", "mw/mmlu"};

// Several worlds: the usual one, others of its size, the smallest and the largest.
std::vector<MicroworldSettings> worlds() {
  std::vector<MicroworldSettings> all(5);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].seed = i + 1;
  all[3].people = 8;
  all[4].people = 64;
  for (MicroworldSettings& settings : all) settings.items_per_task = 190;
  return all;
}

std::vector<WorldItem> items(const MicroworldSettings& settings, std::string_view task,
                             WorldSplit split, std::size_t size) {
  auto made = microworld_items(settings, task, split, size);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : std::vector<WorldItem>{};
}

std::vector<Conversation> conversations(const MicroworldSettings& settings, std::string_view task,
                                        WorldSplit split, std::size_t size) {
  const auto made = microworld_conversations(settings, task, split, size);
  EXPECT_TRUE(made) << made.error().message;
  std::vector<Conversation> all;
  for (std::size_t i = 0; made && i < size; ++i) all.push_back(made->at(i));
  return all;
}

// What is asked, without choices and without the "And " of a second turn.
std::set<std::string> questions(const std::vector<Conversation>& all) {
  std::set<std::string> texts;
  for (const Conversation& conversation : all)
    for (const Message& message : conversation.messages) {
      if (message.role != Role::kUser) continue;
      std::string text = all_text(message);
      const std::string choice = "Multiple Choice question: ";
      if (text.starts_with(choice))
        text = test::question_alone(text.substr(choice.size(), text.find('\n') - choice.size()));
      if (text.starts_with("And ")) text = microworld::raised(text.substr(4));
      texts.insert(std::move(text));
    }
  return texts;
}

std::string content(const std::vector<Conversation>& all) {
  std::string text;
  for (const Conversation& conversation : all)
    for (const Message& message : conversation.messages)
      text += std::string(name(message.role)) + ":" + all_text(message) + "\n";
  return text;
}

TEST(MicroworldChat, HasTheSameBytesOnEveryHost) {
  // A digest of our own output: it says that hosts agree, not that the output is right.
  Sha256 all;
  for (const std::string_view task : microworld_conversation_tasks())
    for (const WorldSplit split : {WorldSplit::kTrain, WorldSplit::kTest})
      all.update(content(conversations({}, task, split, 180)));
  EXPECT_EQ(all.hex(), "712efeeb751a72337711bd6c8a1cde270a56e6c3bc3e4fde54fcdaa7bdd60575");
}

TEST(MicroworldChat, IsAFunctionOfSeedSplitAndIndex) {
  for (const std::string_view task : microworld_conversation_tasks()) {
    const auto few = microworld_conversations({}, task, WorldSplit::kTrain, 10);
    const auto many = microworld_conversations({}, task, WorldSplit::kTrain, 100'000);
    MicroworldSettings other;
    other.seed = 2;
    ASSERT_TRUE(few && many);
    EXPECT_EQ(many->size, 100'000U);
    for (std::size_t i = 10; i > 0; --i) EXPECT_EQ(few->at(i - 1), many->at(i - 1)) << task;
    EXPECT_NE(content(conversations(other, task, WorldSplit::kTrain, 20)),
              content(conversations({}, task, WorldSplit::kTrain, 20)))
        << task;
  }
}

TEST(MicroworldChat, NoTestQuestionIsAskedInTraining) {
  for (const MicroworldSettings& settings : worlds()) {
    std::set<std::string> asked;
    for (const std::string_view task : microworld_conversation_tasks())
      asked.merge(questions(conversations(settings, task, WorldSplit::kTrain, 4000)));
    MicroworldSettings taught = settings;
    taught.lessons = 2000;
    for (const std::string& document : generate_microworld(taught).documents) {
      std::istringstream lines(document);
      for (std::string line; std::getline(lines, line);)
        if (line.starts_with("Question: ")) asked.insert(test::question_alone(line.substr(10)));
    }
    for (const std::string_view task : microworld_conversation_tasks())
      for (const std::string& question :
           questions(conversations(settings, task, WorldSplit::kTest, 190)))
        EXPECT_FALSE(asked.contains(question)) << settings.seed << " " << task << ": " << question;
  }
}

TEST(MicroworldChat, ExactlyTheGoldChoiceIsRight) {
  for (const MicroworldSettings& settings : worlds()) {
    const test::Truth truth(settings);
    for (const char* task : kChoiceTasks)
      for (const WorldSplit split : {WorldSplit::kTrain, WorldSplit::kTest})
        for (const WorldItem& any : items(settings, task, split, 190)) {
          const auto& item = std::get<ChoiceItem>(any);
          ASSERT_EQ(item.choices.size(), 4U);
          EXPECT_EQ(item.letters, (std::vector<std::string>{"A", "B", "C", "D"}));
          EXPECT_EQ(std::set<std::string>(item.choices.begin(), item.choices.end()).size(), 4U)
              << item.question;
          const test::IsRight is_right = truth.of(item.question);
          ASSERT_TRUE(is_right) << task << ": " << item.question;
          for (std::size_t c = 0; c < 4; ++c)
            EXPECT_EQ(is_right(item.choices[c]), c == item.gold)
                << task << ": " << item.question << " " << item.choices[c];
        }
  }
}

TEST(MicroworldChat, WhatIsToldHoldsTheRightChoiceAlone) {
  for (const char* task : {"mw/arc_easy", "mw/mmlu"})
    for (const WorldItem& any : items({}, task, WorldSplit::kTest, 180)) {
      const auto& item = std::get<ChoiceItem>(any);
      const std::string asked = test::question_alone(item.question);
      const std::string told = " " + item.question.substr(0, item.question.size() - asked.size());
      for (std::size_t c = 0; c < item.choices.size(); ++c) {
        const std::regex word("\\W" + item.choices[c] + "\\W", std::regex::icase);
        // A neighbour of the calendar or of numbers stands there too: it is asked from.
        if (c != item.gold && asked.find(item.choices[c]) != std::string::npos) continue;
        EXPECT_EQ(std::regex_search(told, word), c == item.gold) << item.question;
      }
    }
}

// An answer keeps its letter, so that a small model can learn it.
TEST(MicroworldChat, AnAnswerHasOneLetter) {
  for (const char* task : kChoiceTasks) {
    std::map<std::string, std::map<std::size_t, int>> places;
    for (const WorldSplit split : {WorldSplit::kTrain, WorldSplit::kTest})
      for (const WorldItem& any : items({}, task, split, 180)) {
        const auto& item = std::get<ChoiceItem>(any);
        ++places[item.subject + "/" + item.choices[item.gold]][item.gold];
      }
    for (const auto& [answer, golds] : places) EXPECT_EQ(golds.size(), 1U) << task << " " << answer;
  }
}

TEST(MicroworldChat, TestItemsAreSpreadOverLettersAndSubjects) {
  for (const char* task : kChoiceTasks) {
    std::map<std::size_t, int> golds;
    std::map<std::string, int> subjects;
    std::set<std::string> ids;
    for (const WorldItem& any : items({}, task, WorldSplit::kTest, 180)) {
      const auto& item = std::get<ChoiceItem>(any);
      ++golds[item.gold];
      ++subjects[item.subject];
      ids.insert(item.id);
    }
    for (std::size_t gold = 0; gold < 4; ++gold)
      EXPECT_NEAR(golds[gold], 45, 4 * 5.8) << task;  // 4 standard deviations
    EXPECT_EQ(ids.size(), 180U) << task;
    EXPECT_EQ(subjects.size(), task == std::string("mw/mmlu") ? 8U : 1U);
  }
}

// The rules of arithmetic once more, from the question's words.
std::optional<int> solved(const std::string& question) {
  using Solve = int (*)(const std::vector<int>&);
  static const std::vector<std::pair<const char*, Solve>> kForms = {
      {R"(\w+ has (\d+) \w+ and finds (\d+) more\. How many \w+ does \w+ have now\?)",
       [](const auto& n) { return n[0] + n[1]; }},
      {R"(\w+ has (\d+) \w+ and gives (\d+) to \w+\. How many \w+ does \w+ have left\?)",
       [](const auto& n) { return n[0] - n[1]; }},
      {R"(\w+ has (\d+) \w+ and \w+ has (\d+) \w+\. How many \w+ do they have together\?)",
       [](const auto& n) { return n[0] + n[1]; }},
      {R"(\w+ has (\d+) \w+ and \w+ has (\d+) \w+\. How many more \w+ does \w+ have than \w+\?)",
       [](const auto& n) { return n[0] - n[1]; }},
      {R"(\w+ has (\d+) bags with (\d+) \w+ in each\. How many \w+ does \w+ have\?)",
       [](const auto& n) { return n[0] * n[1]; }},
      {R"(\w+ puts (\d+) \w+ into (\d+) equal boxes\. How many \w+ are in each box\?)",
       [](const auto& n) { return n[0] % n[1] == 0 ? n[0] / n[1] : -1; }},
      {R"(\w+ has (\d+) \w+, finds (\d+) more and gives (\d+) to \w+\. How many .* left\?)",
       [](const auto& n) { return n[0] + n[1] - n[2]; }},
      {R"(\w+ has (\d+) bags with (\d+) \w+ in each and (\d+) more \w+\. How many .* have\?)",
       [](const auto& n) { return n[0] * n[1] + n[2]; }},
      {R"(\w+ has (\d+) bags with (\d+) \w+ in each and gives (\d+) \w+ to \w+\. How .* left\?)",
       [](const auto& n) { return n[0] * n[1] - n[2]; }},
      {R"(\w+ has (\d+) \w+ and \w+ has (\d+) more than \w+\. How many .* together\?)",
       [](const auto& n) { return n[0] + n[0] + n[1]; }}};
  for (const auto& [form, solve] : kForms) {
    std::smatch found;
    if (!std::regex_match(question, found, std::regex(form))) continue;
    std::vector<int> numbers;
    for (std::size_t i = 1; i < found.size(); ++i) numbers.push_back(std::stoi(found[i]));
    return solve(numbers);
  }
  return {};
}

TEST(MicroworldChat, WordProblemsHaveTheirSolution) {
  for (const MicroworldSettings& settings : worlds()) {
    std::set<std::string> questions;
    for (const WorldItem& any : items(settings, "mw/gsm8k", WorldSplit::kTest, 190)) {
      const auto& item = std::get<Gsm8kItem>(any);
      const std::optional<int> right = solved(item.question);
      ASSERT_TRUE(right) << item.question;
      EXPECT_EQ(extract_answer(item.answer), std::to_string(*right)) << item.question;
      EXPECT_GE(*right, 2) << item.question;
      EXPECT_LE(*right, 100) << item.question;
      questions.insert(item.question);
    }
    EXPECT_EQ(questions.size(), 190U);
  }
}

TEST(MicroworldChat, ProgramsOfTheTestDiffer) {
  for (const MicroworldSettings& settings : worlds()) {
    std::set<std::string> prompts, names;
    for (const WorldItem& any : items(settings, "mw/humaneval", WorldSplit::kTest, 190)) {
      const auto& item = std::get<ProgramItem>(any);
      prompts.insert(item.prompt);
      names.insert(item.task_id);
      EXPECT_EQ(all_text(conversation_of(item).messages[1]) + "\n",
                item.prompt + item.canonical_solution);
    }
    EXPECT_EQ(prompts.size(), 190U);
    EXPECT_EQ(names.size(), 190U);
  }
}

TEST(MicroworldChat, LettersAreCounted) {
  for (const MicroworldSettings& settings : worlds()) {
    std::map<std::int64_t, int> counts;
    std::set<std::string> questions;
    for (const WorldItem& any : items(settings, "mw/spellingbee", WorldSplit::kTest, 180)) {
      const auto& item = std::get<SpellingBeeItem>(any);
      EXPECT_EQ(std::count(item.word.begin(), item.word.end(), item.letter), item.count);
      EXPECT_NE(item.question.find(std::string("'") + item.letter + "'"), std::string::npos);
      EXPECT_NE(item.question.find(" " + item.word), std::string::npos) << item.question;
      const Conversation conversation = conversation_of(item);
      EXPECT_EQ(extract_answer(all_text(conversation.messages[1])), std::to_string(item.count));
      ++counts[std::min<std::int64_t>(item.count, 2)];
      questions.insert(item.question);
    }
    for (const auto& [count, n] : counts) EXPECT_EQ(n, 60) << count;
    EXPECT_EQ(questions.size(), 180U);
  }
}

TEST(MicroworldChat, WordsAreSpelled) {
  for (const WorldSplit split : {WorldSplit::kTrain, WorldSplit::kTest})
    for (const Conversation& conversation : conversations({}, "mw/simple_spelling", split, 60)) {
      const std::string asked = all_text(conversation.messages[0]);
      const std::string word = asked.substr(std::string("Spell the word: ").size());
      std::string spelling = all_text(conversation.messages[1]);
      ASSERT_TRUE(spelling.starts_with(word + ":"));
      spelling.erase(0, word.size() + 1);
      std::erase(spelling, ',');
      EXPECT_EQ(spelling, word);
    }
}

// Answers are true, and no wording that mw/facts or mw/choice keeps for itself is used.
TEST(MicroworldChat, TalkTellsTheTruthInOtherWords) {
  for (const MicroworldSettings& settings : worlds()) {
    const test::Truth truth(settings);
    const microworld::World world = microworld::make_world(settings);
    std::set<std::string> kept;
    for (const auto& person : world.people)
      for (std::size_t a = 0; a < microworld::kOfPeople.size(); ++a)
        kept.insert(microworld::state(microworld::kOfPeople[a], person, a, person.held_wordings[a])
                        .sentence());
    for (const auto& thing : world.things)
      for (std::size_t a = 0; a < microworld::kOfThings.size(); ++a)
        kept.insert(microworld::state(microworld::kOfThings[a], thing, a, thing.held_wordings[a])
                        .sentence());
    int facts = 0;
    for (const WorldSplit split : {WorldSplit::kTrain, WorldSplit::kTest})
      for (const Conversation& conversation : conversations(settings, "mw/talk", split, 190)) {
        EXPECT_EQ(conversation_fault(conversation), "");
        const std::size_t first = conversation.messages[0].role == Role::kSystem ? 1 : 0;
        for (std::size_t i = first; i < conversation.messages.size(); i += 2) {
          std::string question = all_text(conversation.messages[i]);
          const std::string answer = all_text(conversation.messages[i + 1]);
          if (question.starts_with("And ")) question = microworld::raised(question.substr(4));
          EXPECT_FALSE(kept.contains(answer)) << answer;
          const test::IsRight is_right = truth.of(question);
          if (!is_right) {
            EXPECT_EQ(split, WorldSplit::kTrain) << question;
            continue;
          }
          ++facts;
          const std::string last = answer.substr(answer.rfind(' ') + 1);
          const std::string value = last.substr(0, last.size() - 1);
          EXPECT_TRUE(is_right(value) || is_right(microworld::lowered(value)))
              << question << " " << answer;
        }
      }
    EXPECT_GT(facts, 300);
  }
}

TEST(MicroworldChat, FitsASmallVocabulary) {
  MicroworldSettings settings;
  settings.lessons = settings.documents;
  const auto tokenizer = train_tokenizer(generate_microworld(settings).documents, 1024);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_TRUE(chat_tokens(*tokenizer));
  for (const char* letter : {"A", "B", "C", "D"}) EXPECT_EQ(tokenizer->encode(letter).size(), 1U);
  for (const std::string_view task : microworld_conversation_tasks())
    for (const Conversation& conversation :
         conversations(settings, task, WorldSplit::kTrain, 300)) {
      const auto rendered = render_conversation(*tokenizer, conversation);
      ASSERT_TRUE(rendered) << task;
      EXPECT_LE(rendered->ids.size(), task == "mw/spellingbee" ? 220U : 130U) << task;
    }
}

std::string error_of(const MicroworldSettings& settings, std::string_view task, WorldSplit split,
                     std::size_t size) {
  const auto made = microworld_conversations(settings, task, split, size);
  return made ? "" : made.error().message;
}

TEST(MicroworldChat, BadInputIsNamedWithItsRange) {
  EXPECT_EQ(error_of({}, "mw/arc_esay", WorldSplit::kTrain, 1),
            "no conversations \"mw/arc_esay\" about the microworld; did you mean "
            "\"mw/arc_easy\"?");
  EXPECT_EQ(error_of({}, "mw/talk", WorldSplit::kTrain, 0),
            "mw/talk: 0 train conversations; expected 1 to 10000000");
  EXPECT_EQ(error_of({}, "mw/talk", WorldSplit::kTest, 181),
            "mw/talk: 181 test conversations; expected 1 to 180 (the microworld's items_per_task)");
  MicroworldSettings settings;
  settings.people = 7;
  EXPECT_NE(error_of(settings, "mw/talk", WorldSplit::kTrain, 1).find("/people"),
            std::string::npos);
}

TEST(MicroworldChat, AnswersWithALetterOrANumberCanBeSpoiled) {
  for (const char* task :
       {"mw/arc_easy", "mw/arc_challenge", "mw/mmlu", "mw/gsm8k", "mw/spellingbee"}) {
    const auto all = microworld_conversations({}, task, WorldSplit::kTrain, 50);
    ASSERT_TRUE(all) << all.error().message;
    for (std::size_t i = 0; i < all->size; ++i) {
      const auto pair = spoiled(all->at(i), i);
      ASSERT_TRUE(pair) << task << " " << i;
      EXPECT_EQ(preference_fault(*pair), "") << task << " " << i;
    }
  }
}

}  // namespace
}  // namespace nb
