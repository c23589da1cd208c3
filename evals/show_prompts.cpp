#include "evals/show_prompts.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "evals/base/evaluator.hpp"
#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"

namespace nb {
namespace {

// Tokens with which all sequences begin, none of them scored.
std::size_t shared_context(std::span<const ScoreRequest> requests) {
  std::size_t shared = requests.front().start;
  for (const ScoreRequest& request : requests) {
    shared = std::min(shared, request.start);
    const auto& first = requests.front().tokens;
    const auto differ = std::mismatch(first.begin(), first.begin() + static_cast<long>(shared),
                                      request.tokens.begin());
    shared = static_cast<std::size_t>(differ.first - first.begin());
  }
  return shared;
}

std::string text_of(const Tokenizer& tokenizer, const ScoreRequest& request, std::size_t begin,
                    std::size_t end) {
  return tokenizer.decode(std::span(request.tokens).subspan(begin, end - begin));
}

Result<void> add_requests(const ScoringEvaluator& evaluator, std::size_t i,
                          const Tokenizer& tokenizer, std::int64_t context_length,
                          ShownPrompt& item) {
  NB_TRY(const auto asked, evaluator.requests(i, tokenizer, context_length));
  item.cut_tokens = asked.cut_tokens;
  if (asked.scores.empty()) return {};
  const std::size_t shared = shared_context(asked.scores);
  item.prompt = text_of(tokenizer, asked.scores.front(), 0, shared);
  item.prompt_tokens = static_cast<std::int64_t>(shared);
  const std::size_t gold = evaluator.gold(i).request;
  for (const ScoreRequest& request : asked.scores) {
    const bool is_gold = evaluator.has_answers() && item.requests.size() == gold;
    item.requests.push_back({text_of(tokenizer, request, shared, request.start),
                             text_of(tokenizer, request, request.start, request.end),
                             static_cast<std::int64_t>(request.end - request.start),
                             static_cast<std::int64_t>(request.tokens.size()), is_gold});
  }
  return {};
}

Result<ShownPrompt> shown_item(const Evaluator& evaluator, std::size_t i,
                               const EvalContext& context, const Tokenizer& tokenizer,
                               std::int64_t context_length) {
  ShownPrompt item;
  item.id = evaluator.item_id(i);
  item.public_id = evaluator.public_id(i);
  if (!evaluator.generates()) {
    NB_TRY_VOID(add_requests(static_cast<const ScoringEvaluator&>(evaluator), i, tokenizer,
                             context_length, item));
    return item;
  }
  const std::int64_t room = context_length - context.settings.max_new_tokens;
  NB_TRY(const auto prompt,
         static_cast<const GeneratingEvaluator&>(evaluator).prompt(i, tokenizer, room));
  item.prompt = tokenizer.decode(prompt.tokens);
  item.prompt_tokens = std::ssize(prompt.tokens);
  item.cut_tokens = prompt.cut_tokens;
  item.answer = evaluator.gold(i).text;
  return item;
}

}  // namespace

Result<std::vector<ShownTask>> show_prompts(const EvalContext& context, const Tokenizer& tokenizer,
                                            std::int64_t context_length, std::int64_t items) {
  NB_TRY(const auto tasks, expand_tasks(context.settings, ""));
  std::vector<ShownTask> all;
  for (const Task& task : tasks) {
    NB_TRY(const auto evaluator, load_evaluator(task, context));
    NB_TRY_VOID(evaluator->check_tokenizer(tokenizer), task.id);
    ShownTask shown{
        task.id, std::string(task.kind), static_cast<std::int64_t>(evaluator->size()), {}};
    for (std::size_t i = 0; std::cmp_less(i, std::min(items, shown.items)); ++i) {
      NB_TRY(ShownPrompt item, shown_item(*evaluator, i, context, tokenizer, context_length),
             task.id);
      shown.shown.push_back(std::move(item));
    }
    all.push_back(std::move(shown));
  }
  return all;
}

}  // namespace nb
