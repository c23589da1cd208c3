// Questions with four choices, drawn from lists of all that a task can ask.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/data/microworld_chat_parts.hpp"

namespace nb::microworld {

struct Question {
  std::string text;
  std::vector<std::string> right;  // one of them is shown
  std::vector<std::string> wrong;  // three of them are shown
};

// The questions of a family that belong to a split.
struct QuestionFamily {
  std::string_view subject;  // MMLU's; else empty
  std::vector<Question> questions;
};

// All values of an attribute, as right and wrong answers of who has values[answer].
Question question_of_value(std::string text, const Attribute& attribute, std::size_t answer);

// Questions that cannot have four choices are left out.
ItemSource choice_source(std::uint64_t seed, std::string_view task, WorldSplit split,
                         std::vector<QuestionFamily> families);

}  // namespace nb::microworld
