#include "evals/item_texts.hpp"

#include <fmt/core.h>

#include <string>
#include <unordered_map>

#include "evals/base/evaluator.hpp"
#include "evals/evaluate.hpp"

namespace nb {
namespace {

ItemText text_of(const Evaluator& evaluator, std::size_t i, const ItemName& name,
                 const std::string& task) {
  ItemText text = evaluator.shown_text(i);
  if (const std::string now = prompt_hash(text.prompts);
      !name.prompt_hash.empty() && now != name.prompt_hash)
    text.warning = fmt::format(
        "the prompt is not the one that was scored (hash {}, then {}): the other items of {}, "
        "which "
        "examples come from, or the program's prompts have changed",
        now, name.prompt_hash, task);
  return text;
}

}  // namespace

Result<std::vector<ItemText>> item_texts(const Task& task, EvalContext context,
                                         std::span<const ItemName> names) {
  context.only_looked_at = true;
  NB_TRY(const auto evaluator, load_evaluator(task, context));
  std::unordered_map<std::string, std::size_t> places;  // looked up only, never walked
  for (std::size_t i = 0; i < evaluator->size(); ++i) places.emplace(evaluator->item_id(i), i);
  std::vector<ItemText> texts;
  for (const ItemName& name : names) {
    if (const auto at = places.find(name.id); at != places.end()) {
      texts.push_back(text_of(*evaluator, at->second, name, task.id));
      continue;
    }
    ItemText none;
    none.warning = fmt::format(
        "the data are not what was scored: none of the {} items of {} in them has the hash {}",
        evaluator->size(), task.id, name.id);
    texts.push_back(std::move(none));
  }
  return texts;
}

}  // namespace nb
