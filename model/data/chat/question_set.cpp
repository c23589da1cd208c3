#include "model/data/chat/question_set.hpp"

#include <fmt/core.h>

#include "harness/base/ascii.hpp"
#include "harness/base/hash.hpp"
#include "model/data/tasks/gsm8k.hpp"

namespace nb {
namespace {}  // namespace

Result<QuestionSet> questions_of(const Tokenizer& tokenizer,
                                 std::span<const Conversation> conversations,
                                 std::size_t max_tokens, const std::string& where) {
  if (conversations.empty()) return bad_input(where + ": no conversation in it");
  QuestionSet set;
  Sha256 hash;
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    auto prompt = render_for_completion(tokenizer, conversations[i], max_tokens);
    if (!prompt)
      return bad_input(
          fmt::format("{}: conversation {}: {}", where, i + 1, prompt.error().message));
    Question question{std::move(*prompt), all_text(conversations[i].messages.back())};
    for (const int id : question.prompt) hash.update(fmt::format("{},", id));
    hash.update(fmt::format(";{}:{}", question.gold.size(), question.gold));
    set.questions.push_back(std::move(question));
  }
  set.sha256 = hash.hex();
  return set;
}

double reward_of(std::string_view text, std::string_view gold) {
  if (extract_answer(gold)) return is_right_answer(text, gold) ? 1 : 0;
  return trimmed(text) == trimmed(gold) ? 1 : 0;
}

}  // namespace nb
