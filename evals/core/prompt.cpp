#include "evals/core/prompt.hpp"

#include "evals/base/text.hpp"
#include "harness/base/check.hpp"

namespace nb {
namespace {

std::string joined(std::string_view a, std::string_view delimiter, std::string_view b) {
  std::string text;
  text.reserve(a.size() + delimiter.size() + b.size());
  text += a;
  text += delimiter;
  text += b;
  return text;
}

// An example is the item with its own answer.
std::string example_text(const CoreItem& item, CoreTaskType type, std::string_view delimiter) {
  const auto gold = static_cast<std::size_t>(item.gold);
  switch (type) {
    case CoreTaskType::kMultipleChoice:
      return joined(item.query, delimiter, item.choices.at(gold));
    case CoreTaskType::kSchema:
      return joined(item.choices.at(gold), delimiter, item.continuation);
    case CoreTaskType::kLanguageModelling:
      return joined(strip(item.query), delimiter, item.continuation);
  }
  return "";
}

}  // namespace

std::vector<std::string> render_prompts(const CoreItem& item,
                                        std::span<const CoreItem* const> examples,
                                        CoreTaskType type, std::string_view delimiter) {
  std::string prefix;
  for (const CoreItem* example : examples)
    prefix += example_text(*example, type, delimiter) + "\n\n";
  std::vector<std::string> prompts;
  switch (type) {
    case CoreTaskType::kMultipleChoice:
      for (const std::string& choice : item.choices)
        prompts.push_back(prefix + joined(item.query, delimiter, choice));
      break;
    case CoreTaskType::kSchema:
      for (const std::string& option : item.choices)
        prompts.push_back(prefix + joined(option, delimiter, item.continuation));
      break;
    case CoreTaskType::kLanguageModelling: {
      const std::string without = prefix + joined(strip(item.query), delimiter, "");
      prompts.emplace_back(
          strip(without));  // the whole prompt, so that no blank ends in a token of its own
      prompts.push_back(without + item.continuation);
      break;
    }
  }
  return prompts;
}

}  // namespace nb
