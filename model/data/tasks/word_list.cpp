#include "model/data/tasks/word_list.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/fs.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

std::string_view stripped(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const std::size_t begin = line.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

Result<std::vector<std::string>> parse_word_list(std::string_view text, const std::string& where) {
  text = without_byte_order_mark(text);
  std::vector<std::string> words;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    const std::string_view word = stripped(text.substr(0, newline));
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (word.empty())
      return bad_input(fmt::format("{}:{}: an empty line; every line is a word", where, number));
    if (!std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
      return bad_input(
          fmt::format("{}:{}: a word is one or more of a to z, lower case", where, number));
    words.emplace_back(word);
  }
  if (words.empty()) return bad_input(where + ": no words");
  return words;
}

Result<std::vector<std::string>> read_word_list(const std::filesystem::path& path) {
  NB_TRY(const std::string text, read_file(path));
  return parse_word_list(text, path.string());
}

}  // namespace nb
