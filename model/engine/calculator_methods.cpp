#include <algorithm>
#include <array>

#include "harness/base/ascii.hpp"
#include "model/engine/calculator_value.hpp"

namespace nb::calculator {
namespace {

// Expressions are ASCII, so a byte is a character and these need no tables (nor a locale).
constexpr std::string_view kSpace = " \t\n\r\v\f";
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alpha(char c) { return is_lower(c) || is_upper(c); }
char lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }
char upper(char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; }

// --- without an argument ---

std::string each(std::string text, char (*change)(char)) {
  std::transform(text.begin(), text.end(), text.begin(), change);
  return text;
}
char swapped(char c) { return is_lower(c) ? upper(c) : lower(c); }
Value lower_case(const std::string& text) { return each(text, lower); }
Value upper_case(const std::string& text) { return each(text, upper); }
Value swap_case(const std::string& text) { return each(text, swapped); }
Value capitalize(const std::string& text) {
  std::string changed = each(text, lower);
  if (!changed.empty()) changed.front() = upper(changed.front());
  return changed;
}
Value title(const std::string& text) {
  std::string changed = text;
  for (std::size_t i = 0; i < text.size(); ++i)
    changed[i] = i > 0 && is_alpha(text[i - 1]) ? lower(text[i]) : upper(text[i]);
  return changed;
}
template <bool (*test)(char)>
Value all_are(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }
// One cased letter at least, and none of the other case.
template <bool (*wanted)(char), bool (*other)(char)>
Value has_only(const std::string& text) {
  return std::any_of(text.begin(), text.end(), wanted) &&
         std::none_of(text.begin(), text.end(), other);
}

// --- with one string ---

Value count(const std::string& text, const std::string& part) {
  if (part.empty()) return BigInt(static_cast<std::int64_t>(text.size()) + 1);
  std::int64_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++found;
  return BigInt(found);
}
Value place(std::size_t at, bool must_exist) {
  if (at == std::string::npos) return must_exist ? Value(Failure{}) : Value(BigInt(-1));
  return BigInt(static_cast<std::int64_t>(at));
}
Value find(const std::string& text, const std::string& part) {
  return place(text.find(part), false);
}
Value rfind(const std::string& text, const std::string& part) {
  return place(text.rfind(part), false);
}
Value index(const std::string& text, const std::string& part) {
  return place(text.find(part), true);
}
Value rindex(const std::string& text, const std::string& part) {
  return place(text.rfind(part), true);
}
Value starts_with(const std::string& text, const std::string& part) {
  return text.starts_with(part);
}
Value ends_with(const std::string& text, const std::string& part) { return text.ends_with(part); }
Value remove_prefix(const std::string& text, const std::string& part) {
  return text.starts_with(part) ? text.substr(part.size()) : text;
}
Value remove_suffix(const std::string& text, const std::string& part) {
  return text.ends_with(part) ? text.substr(0, text.size() - part.size()) : text;
}

// --- with a string or nothing (nullptr: whitespace) ---

std::string stripped(const std::string& text, const std::string* set, bool left, bool right) {
  const std::string_view drop = set != nullptr ? std::string_view(*set) : kSpace;
  const std::size_t begin = left ? text.find_first_not_of(drop) : 0;
  if (begin == std::string::npos) return "";
  const std::size_t last = right ? text.find_last_not_of(drop) : text.size() - 1;
  return last == std::string::npos ? "" : text.substr(begin, last + 1 - begin);
}
Value strip(const std::string& text, const std::string* set) {
  return stripped(text, set, true, true);
}
Value lstrip(const std::string& text, const std::string* set) {
  return stripped(text, set, true, false);
}
Value rstrip(const std::string& text, const std::string* set) {
  return text.empty() ? text : stripped(text, set, false, true);
}
Value split(const std::string& text, const std::string* separator) {
  List words;
  if (separator == nullptr) {
    for (std::size_t at = text.find_first_not_of(kSpace); at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
      words.push_back(text.substr(at, end - at));
      at = text.find_first_not_of(kSpace, end);
    }
    return words;
  }
  if (separator->empty()) return Failure{};
  std::size_t begin = 0;
  for (std::size_t at = text.find(*separator); at != std::string::npos;
       at = text.find(*separator, begin)) {
    words.push_back(text.substr(begin, at - begin));
    begin = at + separator->size();
  }
  words.push_back(text.substr(begin));
  return words;
}

struct Method {
  std::string_view name;
  Value (*without)(const std::string&) = nullptr;
  Value (*with_text)(const std::string&, const std::string&) = nullptr;
  Value (*with_choice)(const std::string&, const std::string*) = nullptr;
};

constexpr auto kMethods = std::to_array<Method>({
    {"capitalize", capitalize},
    {"casefold", lower_case},
    {"count", nullptr, count},
    {"endswith", nullptr, ends_with},
    {"find", nullptr, find},
    {"index", nullptr, index},
    {"isalnum", all_are<is_alnum>},
    {"isalpha", all_are<is_alpha>},
    {"isdecimal", all_are<is_digit>},
    {"isdigit", all_are<is_digit>},
    {"islower", has_only<is_lower, is_upper>},
    {"isnumeric", all_are<is_digit>},
    {"isspace", all_are<is_space>},
    {"isupper", has_only<is_upper, is_lower>},
    {"lower", lower_case},
    {"lstrip", nullptr, nullptr, lstrip},
    {"removeprefix", nullptr, remove_prefix},
    {"removesuffix", nullptr, remove_suffix},
    {"rfind", nullptr, rfind},
    {"rindex", nullptr, rindex},
    {"rstrip", nullptr, nullptr, rstrip},
    {"split", nullptr, nullptr, split},
    {"startswith", nullptr, starts_with},
    {"strip", nullptr, nullptr, strip},
    {"swapcase", swap_case},
    {"title", title},
    {"upper", upper_case},
});

Value call_on_text(const std::string& text, std::string_view name,
                   const std::optional<Value>& argument) {
  const auto* method = std::find_if(kMethods.begin(), kMethods.end(),
                                    [&](const Method& m) { return m.name == name; });
  if (method == kMethods.end()) return Failure{};
  if (method->without != nullptr) return argument ? Value(Failure{}) : method->without(text);
  const auto* part = argument ? std::get_if<std::string>(&*argument) : nullptr;
  if (method->with_text != nullptr)
    return part == nullptr ? Value(Failure{}) : method->with_text(text, *part);
  const bool is_default = !argument || std::holds_alternative<None>(*argument);
  return part == nullptr && !is_default ? Value(Failure{}) : method->with_choice(text, part);
}

}  // namespace

Value call_method(const Value& value, std::string_view name, const std::optional<Value>& argument) {
  if (argument && failed(*argument)) return Failure{};
  if (const auto* text = std::get_if<std::string>(&value))
    return call_on_text(*text, name, argument);
  if (name != "count" || !argument) return Failure{};
  if (std::holds_alternative<EmptyTuple>(value)) return BigInt(0);
  if (const auto* list = std::get_if<List>(&value)) {
    const auto* word = std::get_if<std::string>(&*argument);
    return BigInt(word == nullptr ? 0 : std::count(list->begin(), list->end(), *word));
  }
  return Failure{};
}

}  // namespace nb::calculator
