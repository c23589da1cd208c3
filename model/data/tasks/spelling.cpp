#include "model/data/tasks/spelling.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/ascii.hpp"
#include "harness/base/cpython_random.hpp"
#include "model/data/tasks/rows.hpp"
#include "model/data/tasks/spelling_templates.hpp"

namespace nb {
namespace {

constexpr std::uint64_t kTestSeeds = 10'000'000;  // more than there are words
constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz";

CPythonRandom draws_of(SpellingSplit split, std::uint64_t index) {
  switch (split) {
    case SpellingSplit::kTrain:
      break;
    case SpellingSplit::kTest:
      return CPythonRandom(kTestSeeds + index);
    case SpellingSplit::kTestUntil2025Dec:
      return CPythonRandom(index + 1);
  }
  return CPythonRandom(index);
}

template <class List>
const auto& choice(CPythonRandom& random, const List& list) {
  return list[random.below(list.size())];
}

void replace(std::string& text, std::string_view name, const std::string& value) {
  for (std::size_t at = text.find(name); at != std::string::npos;
       at = text.find(name, at + value.size()))
    text.replace(at, name.size(), value);
}

std::string counted_by_hand(const SpellingBeeItem& item) {
  std::string text = fmt::format(
      "We are asked to find the number '{0}' in the word '{1}'. Let me try a manual approach "
      "first.\n\nFirst spell the word out:\n{2}\n\nThen count the occurrences of '{0}':\n",
      item.letter, item.word, spelled(item.word));
  int count = 0;
  for (std::size_t i = 0; i < item.word.size(); ++i) {
    // No space between the number and the letter: " a" would be another token.
    text += fmt::format("{}:{}", i + 1, item.word[i]);
    if (item.word[i] == item.letter) text += fmt::format(" hit! count={}", ++count);
    text += '\n';
  }
  return text + fmt::format("\nThis gives us {}.", count);
}

}  // namespace

std::string spelled(const std::string& word) {
  std::string letters = word + ":";
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (i > 0) letters += ',';
    letters += word[i];
  }
  return letters;
}

SpellingBeeItem spelling_bee_item(std::span<const std::string> words, SpellingSplit split,
                                  std::uint64_t index) {
  static constexpr std::array<std::string_view, 3> kQuotes = {"", "'", "\""};
  CPythonRandom random = draws_of(split, index);
  SpellingBeeItem item;
  item.word = choice(random, words);
  item.letter = random.random() < 0.9 ? choice(random, item.word) : choice(random, kAlphabet);
  item.count = std::count(item.word.begin(), item.word.end(), item.letter);
  std::string question(choice(random, kSpellingTemplates));
  if (random.random() < 0.3) question = lowered(question);
  const std::string letter_quote(choice(random, kQuotes));
  const std::string word_quote(choice(random, kQuotes));
  replace(question, "{letter}", letter_quote + item.letter + letter_quote);
  replace(question, "{word}", word_quote + item.word + word_quote);
  if (random.random() < 0.5) question += '?';
  item.question = std::move(question);
  item.id = ItemIds().of(item_bytes(item));
  return item;
}

Conversation conversation_of(const SpellingBeeItem& item) {
  return {{user_says(item.question),
           assistant_says(std::vector<MessagePart>{
               {PartKind::kText, counted_by_hand(item)},
               {PartKind::kText, "\n\nLet me double check this using Python:\n\n"},
               {PartKind::kPython, fmt::format("'{}'.count('{}')", item.word, item.letter)},
               {PartKind::kPythonOutput, std::to_string(item.count)},
               {PartKind::kText,
                fmt::format("\n\nPython gives us {0}.\n\nMy final answer is:\n\n#### {0}",
                            item.count)}})}};
}

std::string item_bytes(const SpellingBeeItem& item) {
  return netstrings({"spellingbee", item.question, item.word, std::string(1, item.letter)});
}

std::vector<std::string> simple_spelling_words(std::span<const std::string> words) {
  std::vector<std::string> shuffled;
  shuffled.reserve(words.size());
  for (const std::size_t place : CPythonRandom(42).shuffled(words.size()))
    shuffled.push_back(words[place]);
  return shuffled;
}

Conversation simple_spelling(std::span<const std::string> shuffled_words, SpellingSplit split,
                             std::uint64_t index) {
  CPythonRandom random = draws_of(split, index);
  const std::string& word = choice(random, shuffled_words);
  return {{user_says("Spell the word: " + word), assistant_says(spelled(word))}};
}

}  // namespace nb
