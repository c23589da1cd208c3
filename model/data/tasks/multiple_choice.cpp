#include "model/data/tasks/multiple_choice.hpp"

#include "model/data/tasks/rows.hpp"

namespace nb {

std::string choice_prompt(const ChoiceItem& item) {
  std::string prompt = "Multiple Choice question: " + item.question + "\n";
  for (std::size_t i = 0; i < item.choices.size(); ++i)
    prompt += "- " + item.choices[i] + "=" + item.letters[i] + "\n";
  return prompt + "\nRespond only with the letter of the correct answer.";
}

Conversation conversation_of(const ChoiceItem& item) {
  return {{user_says(choice_prompt(item)), assistant_says(item.letters[item.gold])}};
}

std::string item_bytes(const ChoiceItem& item) {
  std::vector<std::string> texts = {"letter", item.question, std::to_string(item.choices.size())};
  texts.insert(texts.end(), item.choices.begin(), item.choices.end());
  texts.insert(texts.end(), item.letters.begin(), item.letters.end());
  texts.push_back(std::to_string(item.gold));
  return netstrings(texts);
}

}  // namespace nb
