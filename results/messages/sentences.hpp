// Makes messages: message("gate.no_such_task", name). A key that is not in the table, or another
// number of arguments than its sentence has places, does not compile. For those who have something
// to say; whoever prints it includes message.hpp alone.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/messages/message.hpp"
#include "results/messages/message_table.hpp"

namespace nb {

// How many arguments a template takes: {} in order, or {0}, {1}, … in any order, some perhaps more
// than once. Of "one|many" the second form tells.
constexpr std::size_t places_in(std::string_view text) {
  if (const std::size_t bar = text.find('|'); bar != text.npos) text.remove_prefix(bar + 1);
  std::size_t count = 0, next = 0;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] != '{') continue;
    const std::size_t place =
        text[at + 1] == '}' ? next++ : static_cast<std::size_t>(text[at + 1] - '0');
    count = place + 1 > count ? place + 1 : count;
  }
  return count;
}

consteval std::uint16_t row_of_message(std::string_view key) {
  for (std::size_t i = 0; i < kMessages.size(); ++i)
    if (kMessages[i].key == key) return static_cast<std::uint16_t>(i);
  throw "no such key in the tables of messages";
}

// A key of the table whose sentence has that many places.
template <std::size_t kArguments>
class SentenceKey {
 public:
  consteval SentenceKey(const char* key) : row_(row_of_message(key)) {  // NOLINT: reads as a key
    if (kMessages[row_].joins()) throw "this row joins parts: joined()";
    if (places_in(kMessages[row_].en) != kArguments) throw "another number of arguments";
  }
  std::uint16_t row() const { return row_; }

 private:
  std::uint16_t row_;
};

// What stands between the parts of a list: "join.semicolon".
class Joint {
 public:
  consteval Joint(const char* key) : row_(row_of_message(key)) {  // NOLINT: reads as a key
    if (!kMessages[row_].joins()) throw "this row is a sentence: message()";
  }
  std::uint16_t row() const { return row_; }

 private:
  std::uint16_t row_;
};

class MessageMaker {
 public:
  static Sentence make(std::uint16_t row, std::vector<Sentence> arguments) {
    Sentence made;
    made.row_ = row;
    made.arguments_ = std::move(arguments);
    return made;
  }
  static Sentence argument(Sentence message) { return message; }
  static Sentence argument(std::string text) { return verbatim(std::move(text)); }
  static Sentence argument(std::string_view text) { return verbatim(std::string(text)); }
  static Sentence argument(const char* text) { return verbatim(text); }
  template <std::integral T>
  static Sentence argument(T number) {
    return verbatim(fmt::format("{}", number));
  }
  static Sentence argument(double) = delete;  // with how many digits?
};

// English "one|many": one where the first argument is 1.
template <class... Args>
Sentence message(std::type_identity_t<SentenceKey<sizeof...(Args)>> sentence, Args&&... args) {
  return MessageMaker::make(sentence.row(), {MessageMaker::argument(std::forward<Args>(args))...});
}

// Parts that say nothing are left out; one alone is itself, none is a message that says nothing.
Sentence joined(Joint between, std::vector<Sentence> parts);
// "a, b and 3 more": the first `named` of them.
Sentence listed(std::vector<std::string> names, std::size_t named);

// "…; …": what stands behind a sentence that is there already.
void append(Sentence& message, Sentence more);

}  // namespace nb
