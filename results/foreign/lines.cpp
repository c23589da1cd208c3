#include "results/foreign/lines.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/base/byte_order_mark.hpp"
#include "results/foreign/text_stream.hpp"

namespace nb {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;  // grows to the longest line
constexpr int kMaxDepth = 200;                 // as json_io.cpp has it

// simdjson reads a line about eight times as fast as json_io's parser. False: something is unusual
// (a doubled key, a huge integer, a mistake), and json_io is to judge and to word it.
bool convert(simdjson::dom::element from, Json& to, int depth) {
  namespace dom = simdjson::dom;
  if (depth > kMaxDepth) return false;
  switch (from.type()) {
    case dom::element_type::ARRAY: {
      Json::array_t array;
      array.reserve(dom::array(from).size());
      for (const dom::element one : dom::array(from)) {
        array.emplace_back();
        if (!convert(one, array.back(), depth + 1)) return false;
      }
      to = std::move(array);
      return true;
    }
    case dom::element_type::OBJECT: {
      to = Json::object();
      auto& object = to.get_ref<Json::object_t&>();
      for (const auto [key, value] : dom::object(from)) {
        const auto [place, is_new] = object.try_emplace(std::string(key));
        if (!is_new || !convert(value, place->second, depth + 1)) return false;
      }
      return true;
    }
    case dom::element_type::INT64:
      // json_io keeps what is not negative as unsigned.
      if (const std::int64_t number = from; number >= 0)
        to = static_cast<std::uint64_t>(number);
      else
        to = number;
      return true;
    case dom::element_type::UINT64:
      to = std::uint64_t(from);
      return true;
    case dom::element_type::DOUBLE:
      to = double(from);
      return true;
    case dom::element_type::STRING:
      to = std::string(std::string_view(from));
      return true;
    case dom::element_type::BOOL:
      to = bool(from);
      return true;
    case dom::element_type::NULL_VALUE:
      to = nullptr;
      return true;
  }
  return false;
}

constexpr std::string_view kNotNumbers[] = {"NaN", "Infinity", "-Infinity"};

// Offset of the first of them outside of texts, at or after `at`; npos: none.
std::size_t not_number_in(std::string_view text, std::size_t at = 0) {
  for (; at < text.size(); ++at) {
    if (text[at] == '"')
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    else if (text[at] == 'N' || text[at] == 'I' || text[at] == '-')
      for (const std::string_view name : kNotNumbers)
        if (text.substr(at).starts_with(name)) return at;
  }
  return text.npos;
}

// With quotes around them.
std::string with_texts(std::string_view text) {
  std::string quoted;
  for (std::size_t at; (at = not_number_in(text)) != text.npos;) {
    const std::string_view name =
        *std::find_if(std::begin(kNotNumbers), std::end(kNotNumbers),
                      [&](std::string_view one) { return text.substr(at).starts_with(one); });
    quoted += text.substr(0, at);
    quoted += fmt::format("\"{}\"", name);
    text.remove_prefix(at + name.size());
  }
  return quoted += text;
}

Error worded(Error error, std::string_view text, const std::string& where, bool is_line) {
  const std::size_t at = not_number_in(text);
  if (at == text.npos) return error;
  const std::string_view before = text.substr(0, at);
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::string line =
      is_line ? "" : fmt::format("{}:", 1 + std::count(before.begin(), before.end(), '\n'));
  error.message = fmt::format(
      "{}:{}{}: a score is not a number (NaN or infinite), which is no JSON; put null there to "
      "leave it out",
      where, line, at - start + 1);
  return error;
}

Result<Json> parse_line(std::string_view line, const std::string& where, NotNumbers not_numbers) {
  if (auto fast = parse_usual_json(line)) return std::move(*fast);
  auto slow = parse_json_line(line, where);
  if (!slow && not_numbers == NotNumbers::kAsTexts && not_number_in(line) != line.npos)
    return parse_json_line(with_texts(line), where);
  if (!slow) return tl::unexpected(worded(slow.error(), line, where, true));
  return slow;
}

}  // namespace

std::optional<Json> parse_usual_json(std::string_view text) {
  thread_local simdjson::dom::parser parser;  // its memory serves every line
  simdjson::dom::element root;
  Json json;
  if (parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS &&
      convert(root, json, 1))
    return json;
  return std::nullopt;
}

Result<void> for_each_json_line(
    const std::filesystem::path& path,
    const std::function<Result<void>(const Json& line, const std::string& where)>& each,
    NotNumbers not_numbers, std::string* cut,
    const std::function<bool(std::string_view line)>& wants) {
  NB_TRY(TextStream file, TextStream::open(path));
  std::string buffer(kBufferBytes, '\0');
  std::size_t filled = 0;  // of the buffer; its beginning is the beginning of a line
  std::size_t number = 0;
  const auto take = [&](std::string_view line, bool is_ended) -> Result<void> {
    ++number;
    if (number == 1) line = without_byte_order_mark(line);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    if (wants && !wants(line)) return {};
    const std::string where = fmt::format("{}:{}", path.string(), number);
    const auto json = parse_line(line, where, not_numbers);
    if (!json && !is_ended && number > 1 && cut != nullptr) {
      *cut = where;
      return {};
    }
    if (!json) return tl::unexpected(json.error());
    return each(*json, where);
  };
  for (bool is_at_end = false; !is_at_end;) {
    if (filled == buffer.size()) buffer.resize(2 * buffer.size());
    NB_TRY(const std::size_t count, file.read(buffer.data() + filled, buffer.size() - filled));
    is_at_end = count == 0;
    const std::size_t before = filled;
    filled += count;
    const std::string_view text(buffer.data(), filled);
    std::size_t begin = 0;
    // Only what is new can hold the end of the first line.
    for (std::size_t end = text.find('\n', before); end != text.npos;
         end = text.find('\n', begin)) {
      NB_TRY_VOID(take(text.substr(begin, end - begin), true));
      begin = end + 1;
    }
    std::memmove(buffer.data(), buffer.data() + begin, filled - begin);
    filled -= begin;
  }
  return filled == 0 ? Result<void>{} : take(std::string_view(buffer.data(), filled), false);
}

Result<Json> parse_foreign_json(std::string_view text, const std::string& where) {
  auto json = parse_json(text, where);
  if (!json) return tl::unexpected(worded(json.error(), text, where, false));
  return json;
}

Result<Json> read_foreign_json(const std::filesystem::path& path, NotNumbers not_numbers) {
  NB_TRY(const std::string text, read_decoded(path));
  if (auto usual = parse_usual_json(text)) return std::move(*usual);
  if (not_numbers == NotNumbers::kAsTexts && not_number_in(text) != text.npos)
    return parse_json(with_texts(text), path.string());
  return parse_foreign_json(text, path.string());
}

bool is_not_number(const Json& value) {
  return value.is_string() &&
         std::find(std::begin(kNotNumbers), std::end(kNotNumbers),
                   value.get_ref<const std::string&>()) != std::end(kNotNumbers);
}

bool number_of(const Json& value, double& number) {
  if (value.is_boolean()) {
    number = value.get<bool>() ? 1 : 0;
    return true;
  }
  if (value.is_number()) {
    number = value.get<double>();
    return std::isfinite(number);
  }
  if (!value.is_string()) return false;
  const std::string& text = value.get_ref<const std::string&>();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && std::isfinite(number);
}

std::int64_t count_of(double number) {
  constexpr double kAbsurd = 1e15;
  return number >= 1 && number < kAbsurd ? static_cast<std::int64_t>(number) : 0;
}

std::int64_t count_of(const Json& value) {
  double number = 0;
  return number_of(value, number) ? count_of(number) : 0;
}

namespace {

bool is_plain(const Json& value) {
  return value.is_string() && std::ranges::all_of(value.get_ref<const std::string&>(), [](char c) {
           return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
         });
}

}  // namespace

// As dump() writes them, which takes a microsecond for each: numbers, truths, lists of choices.
void append_text_of(const Json& value, std::string& text) {
  if (value.is_string()) {
    text += value.get_ref<const std::string&>();
  } else if (value.is_number_unsigned()) {
    fmt::format_to(std::back_inserter(text), "{}", value.get<std::uint64_t>());
  } else if (value.is_boolean()) {
    text += value.get<bool>() ? "true" : "false";
  } else if (value.is_array() && std::ranges::all_of(value, is_plain)) {
    text += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      text += value[i].get_ref<const std::string&>();
      text += '"';
    }
    text += ']';
  } else if (!value.is_null()) {
    text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

std::string text_of(const Json& value) {
  std::string text;
  append_text_of(value, text);
  return text;
}

const Json& member_of(const Json& value, std::string_view key) {
  static const Json kNothing;
  if (!value.is_object()) return kNothing;
  const auto& object = value.get_ref<const Json::object_t&>();
  const auto at = object.find(key);
  return at == object.end() ? kNothing : at->second;
}

}  // namespace nb
