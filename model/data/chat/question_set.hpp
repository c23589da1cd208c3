// Conversations as questions: the prompt of the last answer, and what is right. Reinforcement
// learning asks them. Immutable.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/data/tasks/conversation.hpp"

namespace nb {

struct Question {
  std::vector<int> prompt;  // ends in <|assistant_start|>
  std::string gold;         // the last answer's text
};

struct QuestionSet {
  std::vector<Question> questions;
  std::string sha256;  // of all prompts and answers
};

// The prompt is cut to max_tokens. Errors name the conversation by its number, from 1: one that is
// not well formed, or does not end in the assistant's message.
Result<QuestionSet> questions_of(const Tokenizer& tokenizer,
                                 std::span<const Conversation> conversations,
                                 std::size_t max_tokens, const std::string& where);

// 1 or 0, as the evaluations mark: an answer with a "#### number" is right where the number is (as
// a text), any other where the whole text is, without white space around it. nanochat's
// tasks/gsm8k.py and tasks/common.py.
double reward_of(std::string_view text, std::string_view gold);

}  // namespace nb
