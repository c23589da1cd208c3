// mw/spellingbee and mw/simple_spelling: the form of nanochat's tasks (tasks/spelling.hpp), short
// words of the world, English wordings only. Letters that come once, never or more often are asked
// for equally often.
#include <algorithm>
#include <memory>
#include <utility>

#include "model/data/microworld_chat_parts.hpp"

namespace nb::microworld {
namespace {

constexpr std::size_t kFewestLetters = 3, kMostLetters = 6;
constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz";
// {} is the letter, then the word.
constexpr std::array<std::array<Text, 3>, 4> kCountWordings = {
    {{"How many ", " are in the word ", "?"},
     {"How many times does ", " appear in ", "?"},
     {"How often is the letter ", " in ", "?"},
     {"Count the letter ", " in ", "."}}};

SpellingBeeItem counted(const std::string& word, char letter) {
  SpellingBeeItem item;
  item.word = word;
  item.letter = letter;
  item.count = std::count(word.begin(), word.end(), letter);
  return item;
}

// The letters of every word, and one that it lacks.
std::vector<SpellingBeeItem> all_counts(std::uint64_t seed) {
  std::vector<SpellingBeeItem> all;
  const std::vector<std::string> words = spelling_words();
  for (std::size_t w = 0; w < words.size(); ++w) {
    for (const char letter : kAlphabet)
      if (words[w].find(letter) != std::string::npos) all.push_back(counted(words[w], letter));
    Draws draws(seed, "microworld/chat/absent_letter", w);
    char absent = 'a';
    do {
      absent = kAlphabet[draws.below(kAlphabet.size())];
    } while (words[w].find(absent) != std::string::npos);
    all.push_back(counted(words[w], absent));
  }
  return all;
}

std::string question(const SpellingBeeItem& item, std::size_t wording) {
  const auto& text = kCountWordings[wording];
  return std::string(text[0]) + "'" + item.letter + "'" + std::string(text[1]) + item.word +
         std::string(text[2]);
}

template <std::size_t N>
void add_words(std::vector<std::string>& words, const std::array<Text, N>& table,
               std::size_t count = N) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string word(table[i]);
    const bool is_plain =
        std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (is_plain && word.size() >= kFewestLetters && word.size() <= kMostLetters &&
        std::find(words.begin(), words.end(), word) == words.end())
      words.push_back(word);
  }
}

}  // namespace

std::vector<std::string> spelling_words() {
  std::vector<std::string> words;
  for (const Attribute& attribute : kOfPeople) add_words(words, attribute.values, attribute.count);
  for (const Attribute& attribute : kOfThings) add_words(words, attribute.values, attribute.count);
  for (const Thing& thing : kThings) add_words(words, std::array{thing.name});
  for (const auto& tools : kTools) add_words(words, tools);
  add_words(words, kSubjects);
  add_words(words, kStates);
  return words;
}

ItemSource spelling_bee_source(const World& world, WorldSplit split) {
  const std::vector<SpellingBeeItem> all = all_counts(world.seed);
  const std::vector<bool> held =
      held_third(all.size(), Draws(world.seed, "microworld/chat/held/letters"));
  std::vector<std::vector<SpellingBeeItem>> families(3);  // never, once, more often
  for (std::size_t i = 0; i < all.size(); ++i)
    if (held[i] == (split == WorldSplit::kTest))
      families[static_cast<std::size_t>(std::min<std::int64_t>(all[i].count, 2))].push_back(all[i]);
  std::vector<std::size_t> sizes;
  for (const auto& family : families) sizes.push_back(family.size() * kCountWordings.size());
  const std::string purpose = purpose_of("mw/spellingbee", split);
  return [seed = world.seed, purpose, picks = Picks(world.seed, purpose, split, sizes),
          items = std::make_shared<const decltype(families)>(std::move(families))](
             std::size_t index) -> WorldItem {
    Draws draws(seed, purpose, index);
    const auto [family, member] = picks.at(index, draws);
    SpellingBeeItem item = (*items)[family][member / kCountWordings.size()];
    item.question = question(item, member % kCountWordings.size());
    return item;
  };
}

ItemSource simple_spelling_source(const World& world, WorldSplit split) {
  const std::vector<std::string> all = spelling_words();
  const std::vector<bool> held =
      held_third(all.size(), Draws(world.seed, "microworld/chat/held/words"));
  std::vector<std::string> words;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (held[i] == (split == WorldSplit::kTest)) words.push_back(all[i]);
  const std::string purpose = purpose_of("mw/simple_spelling", split);
  return [seed = world.seed, purpose, picks = Picks(world.seed, purpose, split, {words.size()}),
          words](std::size_t index) -> WorldItem {
    Draws draws(seed, purpose, index);
    const std::string& word = words[picks.at(index, draws).member];
    return Conversation{{user_says("Spell the word: " + word), assistant_says(spelled(word))}};
  };
}

}  // namespace nb::microworld
