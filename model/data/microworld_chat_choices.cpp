#include "model/data/microworld_chat_choices.hpp"

#include <algorithm>
#include <memory>
#include <span>

namespace nb::microworld {
namespace {

constexpr std::size_t kChoices = 4;
constexpr std::array<std::string_view, kChoices> kLetters = {"A", "B", "C", "D"};

// Numbers by value, words by the alphabet.
bool comes_before(const std::string& a, const std::string& b) {
  const auto is_number = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (is_number(a) && is_number(b) && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// The choices are one of the fixed groups of four that the sorted answers fall into: an answer has
// the same letter in every question, so that a model too small to look letters up can learn them.
// Another right answer of the group makes way for a wrong one.
ChoiceItem choice_item(const Question& question, Draws& draws) {
  std::vector<std::string> sorted = question.answers;
  std::sort(sorted.begin(), sorted.end(), comes_before);
  const auto place = static_cast<std::size_t>(
      std::find(sorted.begin(), sorted.end(), question.right) - sorted.begin());
  const std::size_t first = std::min(place / kChoices * kChoices, sorted.size() - kChoices);
  ChoiceItem item;
  item.question = question.told + " " + question.text;
  item.letters.assign(kLetters.begin(), kLetters.end());
  item.gold = place - first;
  item.choices.assign(sorted.begin() + static_cast<std::ptrdiff_t>(first),
                      sorted.begin() + static_cast<std::ptrdiff_t>(first + kChoices));
  for (std::string& choice : item.choices) {
    while (has(question.also_right, choice) ||
           (&choice != &item.choices[item.gold] &&
            std::count(item.choices.begin(), item.choices.end(), choice) > 1))
      choice = sorted[draws.below(sorted.size())];
  }
  return item;
}

}  // namespace

Question question_of_value(std::string told, std::string text, const Attribute& attribute,
                           std::size_t answer) {
  const auto values = std::span(attribute.values).first(attribute.count);
  return {std::move(told),
          std::move(text),
          std::string(attribute.values[answer]),
          {},
          {values.begin(), values.end()}};
}

std::string in_any_order(const std::string& one, const std::string& other, Draws& draws) {
  return draws.below(2) == 0 ? one + " " + other : other + " " + one;
}

ItemSource choice_source(std::uint64_t seed, std::string_view task, WorldSplit split,
                         std::vector<QuestionFamily> families) {
  std::vector<std::size_t> sizes;
  for (QuestionFamily& family : families) {
    std::erase_if(family.questions, [](const Question& question) {
      return question.answers.size() - question.also_right.size() < kChoices;
    });
    sizes.push_back(family.questions.size());
  }
  const std::string purpose = purpose_of(task, split);
  return [seed, purpose, picks = Picks(seed, purpose, split, sizes),
          all = std::make_shared<const std::vector<QuestionFamily>>(std::move(families))](
             std::size_t index) -> WorldItem {
    Draws draws(seed, purpose, index);
    const auto [family, member] = picks.at(index, draws);
    ChoiceItem item = choice_item((*all)[family].questions[member], draws);
    item.subject = (*all)[family].subject;
    return item;
  };
}

}  // namespace nb::microworld
