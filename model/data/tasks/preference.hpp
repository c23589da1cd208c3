// Preferences: one prompt with an answer that is preferred to another. From one's own JSON Lines,
// or made of a conversation whose answer can be spoiled. Plain values and free functions.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/data/tasks/conversation.hpp"

namespace nb {

// Two conversations that differ in their last message alone, the assistant's.
struct Preference {
  Conversation chosen, rejected;
  bool operator==(const Preference&) const = default;
};

// An empty string: well formed. Else what is wrong: a conversation_fault(), prompts that differ, a
// last message that is not the assistant's, an empty answer, two equal ones.
std::string preference_fault(const Preference& preference);

// {prompt, chosen, rejected} as TRL, Twinkle and others have them: the prompt a text (the user's)
// or messages, also named "messages", or absent: then both answers are whole conversations. An
// answer is a text, or messages: the assistant's alone, or the whole conversation. Errors name file
// and line.
Result<std::vector<Preference>> parse_preferences(std::string_view text, const std::string& where);
Result<std::vector<Preference>> read_preferences(const std::filesystem::path& path);
// {"chosen": messages, "rejected": messages}, which parse_preferences() reads back.
Json preference_json(const Preference& preference);

// The conversation's answer against a wrong one of the same form: the next of the question's
// letters (mostly A to D), or another number behind "#### ". `index` decides which. None: the
// answer has neither form.
std::optional<Preference> spoiled(const Conversation& conversation, std::size_t index);

}  // namespace nb
