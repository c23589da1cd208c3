// GSM8K: grade-school problems whose answers call a calculator and end in "#### 72" (nanochat's
// tasks/gsm8k.py). Files → items → conversations with tool calls; answers → numbers; what is right.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/data/tasks/conversation.hpp"

namespace nb {

struct Gsm8kItem {
  std::string id;  // 16 hex digits of a hash of the content
  std::string question;
  std::string answer;  // as in the file: "… <<9*2=18>>18 …\n#### 18"
};

// JSON Lines {question, answer}. An answer without a number behind "#### " is an error.
Result<std::vector<Gsm8kItem>> parse_gsm8k(std::string_view text, const std::string& where);
Result<std::vector<Gsm8kItem>> read_gsm8k(const std::filesystem::path& path);

// The answer cut at <<expression=result>>: text, what goes to the calculator, what comes back. Text
// between two calls may be empty. The last "=" divides; without one the result is empty.
std::vector<MessagePart> answer_parts(std::string_view answer);
// User: the question as it is. Assistant: answer_parts().
Conversation conversation_of(const Gsm8kItem& item);
std::string item_bytes(const Gsm8kItem& item);

// First match of `#### (\-?[0-9\.\,]+)`, without commas; it may be no number at all ("."). Nothing:
// no match.
std::optional<std::string> extract_answer(std::string_view text);
// Equal as texts: "18.0" is not "18", and no answer is never right. `gold` is a text with an
// answer.
bool is_right_answer(std::string_view text, std::string_view gold);

// An answer of the example solutions that come with the dataset ends in a line "A: 72": the same
// with "#### 72", else as it is.
std::string with_marked_answer(std::string text);

}  // namespace nb
