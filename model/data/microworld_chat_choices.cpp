#include "model/data/microworld_chat_choices.hpp"

#include <memory>

namespace nb::microworld {
namespace {

constexpr std::size_t kChoices = 4;
constexpr std::array<std::string_view, kChoices> kLetters = {"A", "B", "C", "D"};

ChoiceItem choice_item(const Question& question, Draws& draws) {
  ChoiceItem item;
  item.question = question.text;
  item.letters.assign(kLetters.begin(), kLetters.end());
  item.gold = draws.below(kChoices);
  const std::string& right = question.right[draws.below(question.right.size())];
  const std::vector<std::size_t> wrong = draws.order(question.wrong.size());
  for (std::size_t choice = 0, next = 0; choice < kChoices; ++choice)
    item.choices.push_back(choice == item.gold ? right : question.wrong[wrong[next++]]);
  return item;
}

}  // namespace

Question question_of_value(std::string text, const Attribute& attribute, std::size_t answer) {
  Question question{std::move(text), {std::string(attribute.values[answer])}, {}};
  for (std::size_t value = 0; value < attribute.count; ++value)
    if (value != answer) question.wrong.emplace_back(attribute.values[value]);
  return question;
}

ItemSource choice_source(std::uint64_t seed, std::string_view task, WorldSplit split,
                         std::vector<QuestionFamily> families) {
  std::vector<std::size_t> sizes;
  for (QuestionFamily& family : families) {
    std::erase_if(family.questions, [](const Question& question) {
      return question.right.empty() || question.wrong.size() + 1 < kChoices;
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
