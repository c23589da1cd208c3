// What a model would be asked, to be looked at before it is asked: prompts, choices, what is right,
// how many tokens. Scores nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evals/base/eval_context.hpp"
#include "evals/base/task.hpp"
#include "harness/base/result.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// One sequence that would be scored, behind what all sequences of the item begin with.
struct ShownRequest {
  std::string context;  // its own, not scored: the two readings of a schema
  std::string scored;
  std::int64_t scored_tokens = 0;
  std::int64_t tokens = 0;  // of the whole sequence
  bool is_gold = false;
};

struct ShownPrompt {
  std::string id, public_id;
  std::string prompt;  // as tokens give it back, specials by their names
  std::int64_t prompt_tokens = 0;
  std::int64_t cut_tokens = 0;         // dropped, so that it fits the context
  std::vector<ShownRequest> requests;  // of scored items
  std::string answer;                  // of generated ones: a text that is graded right
};

struct ShownTask {
  std::string task, kind;
  std::int64_t items = 0;  // in all
  std::vector<ShownPrompt> shown;
};

// The first `items` of every task of the context's settings, for a model of that tokenizer and
// context.
Result<std::vector<ShownTask>> show_prompts(const EvalContext& context, const Tokenizer& tokenizer,
                                            std::int64_t context_length, std::int64_t items);

}  // namespace nb
