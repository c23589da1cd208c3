#include "harness/base/language.hpp"

namespace nb {

Result<Language> parse_language(const std::string& text) {
  if (text == "en") return Language::kEn;
  if (text == "zh") return Language::kZh;
  return bad_input("--lang: " + text + " is not a language of reports; there are en and zh");
}

std::string_view name(Language language) { return language == Language::kZh ? "zh" : "en"; }

}  // namespace nb
