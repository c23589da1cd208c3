// Questions with lettered choices (ARC, MMLU): files → items → nanochat's messages
// (tasks/common.py). Plain values and free functions.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/data/tasks/conversation.hpp"

namespace nb {

struct ChoiceItem {
  std::string id;         // 16 hex digits of a hash of the content
  std::string public_id;  // the file's own: "Mercury_417466"; MMLU has none: "row 12"
  std::string question;
  std::string subject;               // MMLU; else empty
  std::vector<std::string> choices;  // at least two
  std::vector<std::string> letters;  // of each choice: the file's labels, mostly A to D
  std::size_t gold = 0;              // index
};

// "Multiple Choice question: …\n- choice=A\n…\nRespond only with the letter of the correct answer."
// The letter stands behind its choice without a space, so that it is the answer's own token.
std::string choice_prompt(const ChoiceItem& item);
// User: the prompt. Assistant: the letter alone.
Conversation conversation_of(const ChoiceItem& item);
// Everything that decides what is asked and what is right, as bytes.
std::string item_bytes(const ChoiceItem& item);

// AI2 ARC as JSON Lines: {id, question, choices: {text: […], label: […]}, answerKey}. Errors name
// file and line: as many labels as texts, two choices at least, labels that differ and are not
// empty, an answer among them, ids that differ.
Result<std::vector<ChoiceItem>> parse_arc(std::string_view text, const std::string& where);
Result<std::vector<ChoiceItem>> read_arc(const std::filesystem::path& path);

// MMLU as Hugging Face has it, JSON Lines: {question, subject, choices: [4], answer: 0 to 3}. Rows
// wrapped in "train", as in its auxiliary training split, are unwrapped.
Result<std::vector<ChoiceItem>> parse_mmlu(std::string_view text, const std::string& where);
Result<std::vector<ChoiceItem>> read_mmlu(const std::filesystem::path& path);

}  // namespace nb
