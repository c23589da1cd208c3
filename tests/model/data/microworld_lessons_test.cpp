#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "model/data/microworld.hpp"

namespace nb {
namespace {

Microworld taught(std::uint64_t seed, std::int64_t lessons) {
  MicroworldSettings settings;
  settings.seed = seed;
  settings.documents = 400;
  settings.val_documents = 40;
  settings.lessons = lessons;
  return generate_microworld(settings);
}

Microworld untaught(std::uint64_t seed) {
  MicroworldSettings settings;
  settings.seed = seed;
  settings.documents = 400;
  settings.val_documents = 40;
  return generate_microworld(settings);
}

std::vector<std::string> lines(const std::vector<std::string>& documents) {
  std::vector<std::string> all;
  for (const std::string& document : documents) {
    std::istringstream text(document);
    for (std::string line; std::getline(text, line);) all.push_back(line);
  }
  return all;
}

TEST(MicroworldLessons, AreNotPrintedWhereAbsent) {
  MicroworldSettings settings;
  EXPECT_FALSE(print_struct(settings).contains("lessons"));
  settings.lessons = 3;
  EXPECT_EQ(print_struct(settings).at("lessons"), 3);
}

TEST(MicroworldLessons, StandAmongTheSameDocuments) {
  const Microworld with = taught(1, 200), without = untaught(1);
  ASSERT_EQ(with.documents.size(), 600U);
  ASSERT_EQ(with.val_documents.size(), 60U);  // the same share
  const std::set<std::string> all(with.documents.begin(), with.documents.end());
  for (const std::string& document : without.documents) EXPECT_TRUE(all.contains(document));
  const std::set<std::string> told(without.documents.begin(), without.documents.end());
  const auto lessons_before = [&](std::size_t end) {
    return std::count_if(with.documents.begin(),
                         with.documents.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const std::string& document) { return !told.contains(document); });
  };
  EXPECT_EQ(lessons_before(600), 200);
  EXPECT_NEAR(static_cast<double>(lessons_before(300)), 100, 4 * 5.8);  // 4 standard deviations
  EXPECT_EQ(with.documents, taught(1, 200).documents);
  EXPECT_EQ(taught(1, 0).documents, without.documents);
}

TEST(MicroworldLessons, SumsAreRight) {
  const std::regex form(
      R"(\d+ (plus|minus|times|divided by) \d+ is (\d+): (\d+)(\D+)(\d+)=(\d+)\.)");
  int sums = 0;
  for (const std::string& line : lines(taught(2, 400).documents)) {
    std::smatch found;
    if (!std::regex_match(line, found, form)) continue;
    ++sums;
    const int a = std::stoi(found[3]), b = std::stoi(found[5]), c = std::stoi(found[6]);
    const std::string op = found[4];
    EXPECT_EQ(found[2], found[6]) << line;
    EXPECT_EQ(op == "+" ? a + b : op == "-" ? a - b : op == "*" ? a * b : a / b, c) << line;
  }
  EXPECT_GT(sums, 100);
}

TEST(MicroworldLessons, LettersAreCounted) {
  const std::regex form(
      R"(We are asked to find the number '(.)' in the word '(\w+)'\. First spell the word out: )"
      R"((\S+)\. Then count the occurrences of '.'\. This gives us (\d)\.)");
  int counts = 0;
  for (const std::string& line : lines(taught(3, 400).documents)) {
    std::smatch found;
    if (!std::regex_match(line, found, form)) continue;
    ++counts;
    const std::string word = found[2];
    std::string spelled = found[3];
    EXPECT_EQ(std::count(word.begin(), word.end(), found[1].str().front()), std::stoi(found[4]));
    std::erase(spelled, ',');
    EXPECT_EQ(spelled, word);
  }
  EXPECT_GT(counts, 100);
}

// The sentences that mw/facts, mw/choice and mw/cloze ask for.
TEST(MicroworldLessons, NoItemStandsInALesson) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Microworld world = taught(seed, 3000);
    const std::vector<std::string> all = lines(world.documents);
    const std::set<std::string> told(all.begin(), all.end());
    for (const MicroworldTask& task : world.tasks) {
      if (const auto* items = std::get_if<std::vector<MultipleChoiceItem>>(&task.items)) {
        for (const auto& item : *items)
          for (const std::string& choice : item.choices)
            EXPECT_FALSE(told.contains(item.query + " " + choice + "."));
      }
      if (const auto* items = std::get_if<std::vector<LanguageModelingItem>>(&task.items)) {
        for (const auto& item : *items)
          EXPECT_FALSE(told.contains(item.context + " " + item.continuation + "."));
      }
    }
  }
}

}  // namespace
}  // namespace nb
