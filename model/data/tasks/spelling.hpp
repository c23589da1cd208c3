// Two generated tasks over a word list (nanochat's tasks/spellingbee.py): SpellingBee asks how
// often a letter is in a word, in 51 wordings and seven languages, and the answer counts by hand
// and then with the calculator; SimpleSpelling asks to spell a word. Every example is a function of
// the list, the split and its index, drawn as CPython's Random draws.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/data/tasks/conversation.hpp"

namespace nb {

// Where an example's draw starts: train Random(index); test Random(10,000,000 + index), since
// 2025-12-08. Until then test was Random(−(index + 1)), which CPython seeds as Random(index + 1):
// examples of train.
enum class SpellingSplit { kTrain, kTest, kTestUntil2025Dec };

struct SpellingBeeItem {
  std::string id;  // 16 hex digits of a hash of the content
  std::string word;
  char letter = 'a';
  std::string question;
  std::int64_t count = 0;  // how often the letter is in the word
};

// words: not empty, each of a to z (word_list.hpp).
SpellingBeeItem spelling_bee_item(std::span<const std::string> words, SpellingSplit split,
                                  std::uint64_t index);
// The assistant spells, counts, calls 'word'.count('letter') and ends in "#### count".
Conversation conversation_of(const SpellingBeeItem& item);
std::string item_bytes(const SpellingBeeItem& item);

// "word:w,o,r,d"
std::string spelled(const std::string& word);
// The list that SimpleSpelling draws from: shuffled once by Random(42).
std::vector<std::string> simple_spelling_words(std::span<const std::string> words);
// "Spell the word: {word}" → "{word}:{w,o,r,d}".
Conversation simple_spelling(std::span<const std::string> shuffled_words, SpellingSplit split,
                             std::uint64_t index);

}  // namespace nb
