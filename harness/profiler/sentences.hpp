// What the profiler says, as a value: a key of the table in sentences.cpp and what fills its
// places. It becomes text where somebody reads it, in the reader's language.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/language.hpp"

namespace nb::profiler {

struct SentenceRow {
  std::string_view key, en, zh;  // {0}, {1}, … take the arguments
};
std::span<const SentenceRow> sentence_rows();

struct Said {
  std::string key;
  std::vector<std::string> arguments = {};
  bool operator==(const Said&) const = default;
};
// NB_CHECK: a key that is not in the table.
std::string text_of(const Said& said, Language language = Language::kEn);
// The same of a key without places: headers of columns, names of classes and causes. A key that is
// not in the table is its own text: names that files bring.
std::string word(std::string_view key, Language language);

}  // namespace nb::profiler
