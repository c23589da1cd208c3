#include "report/words.hpp"

#include "harness/base/table.hpp"

namespace nb {

std::string_view Words::text(Phrase phrase) const {
  const PhraseRow& row = kPhrases[phrase.index()];
  return language_ == Language::kZh ? row.zh : row.en;
}

std::string Words::count(Phrase phrase, long long n) const {
  std::string_view form = text(phrase);
  if (const std::size_t bar = form.find('|'); bar != std::string_view::npos)
    form = n == 1 ? form.substr(0, bar) : form.substr(bar + 1);
  const std::string number = with_commas(n);
  return fmt::vformat(form, fmt::make_format_args(number));
}

}  // namespace nb
