// Questions with four choices, drawn from lists of all that a task can ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/data/microworld_chat_parts.hpp"

namespace nb::microworld {

struct Question {
  std::string told;  // sentences before the question that its answer follows from
  std::string text;
  std::string right;
  std::vector<std::string> also_right;  // never shown beside it
  std::vector<std::string> answers;     // all of the question's kind
};

// The questions of a family that belong to a split.
struct QuestionFamily {
  std::string_view subject;  // MMLU's; else empty
  std::vector<Question> questions;
};

// One that values[answer] of the attribute answers.
Question question_of_value(std::string told, std::string text, const Attribute& attribute,
                           std::size_t answer);
// Two sentences in either order.
std::string in_any_order(const std::string& one, const std::string& other, Draws& draws);

// Questions that cannot have four choices are left out.
ItemSource choice_source(std::uint64_t seed, std::string_view task, WorldSplit split,
                         std::vector<QuestionFamily> families);

}  // namespace nb::microworld
