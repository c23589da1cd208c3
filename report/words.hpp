// Every fixed sentence of a report, in each language. Names (metrics, tasks, devices, files),
// numbers, units and commands are the same in all of them. A key that is not in the table does not
// compile. To add a sentence: a row in words_table.hpp.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "harness/base/language.hpp"
#include "report/words_table.hpp"
#include "results/messages/message.hpp"

namespace nb {

// An index into kPhrases, found while compiling.
class Phrase {
 public:
  consteval Phrase(const char* key) : index_(find(key)) {}  // NOLINT: reads as a key
  std::size_t index() const { return index_; }

 private:
  static consteval std::size_t find(std::string_view key) {
    for (std::size_t i = 0; i < std::size(kPhrases); ++i)
      if (kPhrases[i].key == key) return i;
    throw "no such key in words_table.hpp";
  }
  std::size_t index_;
};

// A language. say("of_seeds", 5): the phrase with its {} filled.
class Words {
 public:
  explicit Words(Language language = Language::kEn) : language_(language) {}
  Language language() const { return language_; }

  template <class... Args>
  std::string operator()(Phrase phrase, const Args&... args) const {
    return fmt::vformat(text(phrase), fmt::make_format_args(args...));
  }
  std::string operator()(const Sentence& message) const { return text_of(message, language_); }
  // "1 record", "1,204 records": phrases "one|many" of English; other languages have one form.
  std::string count(Phrase phrase, long long n) const;

 private:
  std::string_view text(Phrase phrase) const;
  Language language_;
};

}  // namespace nb
