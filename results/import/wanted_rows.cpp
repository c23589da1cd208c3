#include "results/import/wanted_rows.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "harness/base/ascii.hpp"

namespace nb {
namespace {

bool is_letter(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || c == '_'; });
}
std::string_view behind_slash(std::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

// Between other characters than letters and digits: "17" of "17_epoch_1".
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end])))
      return true;
  }
  return false;
}

// string_view::find looks at every first character.
std::size_t find_part(std::string_view text, std::string_view part, std::size_t from) {
  const void* at = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return at == nullptr ? text.npos
                       : static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

std::size_t skip_blank(std::string_view text, std::size_t at) {
  while (at < text.size() && std::strchr(" \t\r\n", text[at]) != nullptr) ++at;
  return at;
}

}  // namespace

WantedRows::WantedRows(std::vector<std::string> names) {
  for (const std::string& name : names) {
    const std::string_view word = behind_slash(name);
    if (!is_word(word)) {
      words_.clear();
      return;
    }
    words_.emplace_back(word);
  }
  std::sort(words_.begin(), words_.end());
}

bool WantedRows::has(std::string_view name) const {
  return std::binary_search(words_.begin(), words_.end(), behind_slash(name), std::less<>());
}

bool WantedRows::may_hold(std::string_view row) const {
  return words_.empty() || std::any_of(words_.begin(), words_.end(), [&](const std::string& word) {
           return has_word(row, word);
         });
}

bool WantedRows::may_hold(std::string_view row, std::span<const std::string_view> keys) const {
  if (words_.empty()) return true;
  bool is_there = false;
  for (const std::string_view key : keys) {
    const Value value = value_of(row, key);
    if (value == Value::kWanted) return true;
    is_there = is_there || value == Value::kOther;
  }
  return !is_there;
}

// At any depth. A quote inside of a text has a backslash before it, so what looks like a key is
// one.
WantedRows::Value WantedRows::value_of(std::string_view row, std::string_view key) const {
  Value found = Value::kNotThere;
  for (std::size_t at = find_part(row, key, 0); at != row.npos; at = find_part(row, key, at)) {
    const std::size_t begin = at;
    at += key.size();
    if (begin == 0 || row[begin - 1] != '"' || at == row.size() || row[at] != '"') continue;
    at = skip_blank(row, at + 1);
    if (at == row.size() || row[at] != ':') continue;
    at = skip_blank(row, at + 1);
    found = Value::kOther;
    const std::string_view rest = row.substr(at);
    if (rest.starts_with("null")) continue;
    std::size_t end = 0;
    if (rest.starts_with('"')) {
      end = rest.find('"', 1);
      if (end == rest.npos || rest.substr(0, end).find('\\') != rest.npos) return Value::kWanted;
      if (has(rest.substr(1, end - 1))) return Value::kWanted;
      continue;
    }
    while (end < rest.size() && is_digit(rest[end])) ++end;
    // What is no whole number may be written differently where it is a name.
    const bool is_whole = end > 0 && end < rest.size() && std::strchr(",]} \t\r\n", rest[end]);
    if (!is_whole || has(rest.substr(0, end))) return Value::kWanted;
  }
  return found;
}

}  // namespace nb
