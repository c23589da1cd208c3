#include "results/training/log_lines.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace nb {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// A line and what follows it, of a text that is not empty.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

// Position after the string that opens at `at`, or npos.
std::size_t after_text(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.npos;
}

// Position after the value at `at`, which is an object or a list.
std::size_t after_nested(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = after_text(text, at);
      if (at == text.npos) return at;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0) return at;
  }
  return text.npos;
}

// "NaN", "Infinity", "-Infinity" as Python writes them.
std::optional<double> word_number(std::string_view word) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (word == "NaN" || word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity" || word == "inf") return kInfinity;
  if (word == "-Infinity" || word == "-inf") return -kInfinity;
  return std::nullopt;
}

// "1,139,500.5" → "1139500.5"; nothing where a comma separates no thousands.
std::optional<std::string> without_thousands(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("-0123456789,"), text.size());
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',')
      plain += text[i];
    else if (i == 0 || i >= end || (end - i) % 4 != 0)
      return std::nullopt;
  }
  return plain;
}

}  // namespace

void for_each_log_line(const LogText& log,
                       const std::function<void(std::string_view, std::size_t)>& each) {
  std::string_view text = log.bytes;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_line(text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::size_t at = line.find('\r'); at != line.npos; at = line.find('\r')) {
      each(line.substr(0, at), number);
      line.remove_prefix(at + 1);
    }
    each(line, number);
    if (log.file != nullptr) log.file->passed(text.data());
  }
}

std::optional<double> leading_number(std::string_view text) {
  text = without_blanks(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  text = text.substr(0, text.find_first_of(" \t|(;"));
  if (text.ends_with(',')) text.remove_suffix(1);
  std::string plain;
  if (text.find(',') != text.npos) {
    const auto joined = without_thousands(text);
    if (!joined) return std::nullopt;
    text = plain = *joined;
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  for (const char c : text.substr(static_cast<std::size_t>(stop - text.data())))
    if (c >= '0' && c <= '9') return std::nullopt;
  return value;
}

std::optional<std::int64_t> leading_integer(std::string_view text) {
  text = without_blanks(text);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  return value;
}

std::optional<double> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  return leading_number(line.substr(at + key.size()));
}

std::optional<double> number_after(std::string_view line, std::string_view key,
                                   const std::string& where, std::size_t line_number,
                                   std::optional<Error>& error) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  const std::string_view rest = without_blanks(line.substr(at + key.size()));
  const auto value = leading_number(rest);
  if (!value && !error)
    error = Error{
        ErrorCode::kBadInput,
        fmt::format("{}:{}: \"{}\" after \"{}\" is no number; is the file whole?", where,
                    line_number, rest.substr(0, std::min<std::size_t>(rest.find('|'), 20)), key)};
  return value;
}

std::vector<std::string> csv_cells(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (is_quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

bool for_each_json_number(std::string_view object,
                          const std::function<void(std::string_view, double)>& each) {
  object = without_blanks(object);
  if (!object.starts_with('{')) return false;
  std::size_t at = 1;
  const auto skip = [&] {
    while (at < object.size() && is_blank(object[at])) ++at;
    return at < object.size();
  };
  if (!skip()) return false;
  if (object[at] == '}') return without_blanks(object.substr(at + 1)).empty();
  for (;;) {
    if (!skip() || object[at] != '"') return false;
    const std::size_t key_end = after_text(object, at);
    if (key_end == object.npos) return false;
    const std::string_view key = object.substr(at + 1, key_end - at - 2);
    at = key_end;
    if (!skip() || object[at] != ':') return false;
    ++at;
    if (!skip()) return false;
    std::size_t end = 0;
    if (object[at] == '"') {
      end = after_text(object, at);
      if (end == object.npos) return false;
      if (const auto value = word_number(object.substr(at + 1, end - at - 2))) each(key, *value);
    } else if (object[at] == '{' || object[at] == '[') {
      end = after_nested(object, at);
      if (end == object.npos) return false;
    } else {
      end = std::min(object.find_first_of(",} \t\r\n", at), object.size());
      const std::string_view word = object.substr(at, end - at);
      double value = 0;
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (const auto special = word_number(word)) {
        each(key, *special);
      } else if (error == std::errc() && stop == word.data() + word.size()) {
        each(key, value);
      } else if (word != "null" && word != "true" && word != "false") {
        return false;
      }
    }
    at = end;
    if (!skip()) return false;
    if (object[at] == '}') return without_blanks(object.substr(at + 1)).empty();
    if (object[at] != ',') return false;
    ++at;
  }
}

bool any_line(std::string_view part, bool (*wants)(std::string_view)) {
  while (!part.empty()) {
    std::string_view line = take_line(part);
    // A progress bar writes over its own line.
    for (std::size_t at = 0; at != line.npos;) {
      at = line.find('\r');
      if (wants(line.substr(0, at))) return true;
      line.remove_prefix(at == line.npos ? 0 : at + 1);
    }
  }
  return false;
}

}  // namespace nb
