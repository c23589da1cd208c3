// What results have to say, as a value: which message of message_table.hpp it is, and what that is
// said of. It becomes text where somebody reads it (terminal, Markdown, HTML, JSON), in the
// reader's language. Made by message() of sentences.hpp. No text is ever read back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"

namespace nb {

// Invariant: as many arguments as the sentence has places, whole parts where it joins them.
class Sentence {
 public:
  Sentence() = default;  // says nothing
  bool empty() const { return row_ == 0 && text_.empty(); }
  std::string_view id() const;  // "gate.no_such_record"; of a text as it is "verbatim"
  bool operator==(const Sentence&) const = default;

 private:
  friend class MessageMaker;
  friend Sentence verbatim(std::string text);
  friend std::string text_of(const Sentence& message, Language language);
  friend Json json_of(const Sentence& message);
  std::uint16_t row_ = 0;  // of message_table.hpp; 0: text_, as it is
  std::string text_;
  std::vector<Sentence> arguments_;
};

// A text that is the same in every language: names, numbers with their units, what a file or a
// library says.
Sentence verbatim(std::string text);

std::string text_of(const Sentence& message, Language language = Language::kEn);
std::vector<std::string> texts_of(std::span<const Sentence> messages,
                                  Language language = Language::kEn);

// {"id": "gate.no_such_record", "arguments": ["…", {"id": …}]}: texts as strings, sentences in a
// sentence as objects. null: it says nothing.
Json json_of(const Sentence& message);
Json json_of(std::span<const Sentence> messages);
// Both, as results write them: json["reason"] is the English text, json["reason_message"] the
// value.
void add_message(Json& json, const std::string& key, const Sentence& message);
void add_messages(Json& json, const std::string& key, std::span<const Sentence> messages);
// What json_of wrote. An id or a number of arguments that is not known (a newer program's):
// nothing.
Sentence message_from(const Json& json);

}  // namespace nb
