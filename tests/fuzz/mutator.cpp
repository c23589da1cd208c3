#include "tests/fuzz/mutator.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"

namespace nb::test {
namespace {

using Random = std::mt19937_64;

std::size_t below(std::size_t end, Random& random) { return random() % end; }  // end > 0

// What text formats are made of, and numbers at the ends of their types.
constexpr std::string_view kPieces[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        ",",
                                        ":",
                                        "\n",
                                        "|",
                                        "- ",
                                        "│",
                                        "+--+\n",
                                        "±",
                                        "↑",
                                        "%",
                                        "#",
                                        "&a ",
                                        "*a",
                                        "0",
                                        "-1",
                                        "1e400",
                                        "1e-400",
                                        "NaN",
                                        "nan",
                                        "inf",
                                        "null",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "18446744073709551615",
                                        "2147483648",
                                        "1.7976931348623157e308",
                                        "\\u0000",
                                        "\\ud800",
                                        "\xFF",
                                        "\xEF\xBB\xBF",
                                        "\xE2\x82",
                                        "\x1b[31m",
                                        "[[[[[[[[[[[[[[[[",
                                        ".",
                                        "../"};

// A value at any depth.
Json* any_value(Json& json, Random& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && below(5, random) != 0) {
    auto member = at->begin();
    std::advance(member, static_cast<std::ptrdiff_t>(below(at->size(), random)));
    at = &*member;
  }
  return at;
}

void change_value(Json& json, Random& random) {
  static const std::vector<Json> kOthers = {nullptr,
                                            true,
                                            0,
                                            -1,
                                            0.5,
                                            1e308,
                                            -1e308,
                                            5e-324,
                                            "",
                                            "NaN",
                                            "1",
                                            "../x",
                                            std::string(300, 'x'),
                                            Json::array(),
                                            Json::object(),
                                            Json{{1}},
                                            4294967296,
                                            INT64_MIN,
                                            INT64_MAX,
                                            UINT64_MAX};
  const Json copy = *any_value(json, random);
  Json& at = *any_value(json, random);
  switch (below(5, random)) {
    case 0:  // a member less
      if (at.is_structured() && !at.empty()) {
        auto member = at.begin();
        std::advance(member, static_cast<std::ptrdiff_t>(below(at.size(), random)));
        at.erase(member);
      }
      break;
    case 1:  // one more
      if (at.is_array())
        at.push_back(copy);
      else if (at.is_object())
        at["x"] = copy;
      break;
    case 2:
      at = copy;
      break;
    default:
      at = kOthers[below(kOthers.size(), random)];
  }
}

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Of the whole text, else of one of its lines, else nothing changes.
void change_json(std::string& text, Random& random) {
  if (auto whole = parse_json(text, "")) {
    change_value(*whole, random);
    text = json_text(*whole);
    return;
  }
  std::size_t begin = text.rfind('\n', below(text.size(), random));
  begin = begin == text.npos ? 0 : begin + 1;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  auto line = parse_json(std::string_view(text).substr(begin, end - begin), "");
  if (!line) return;
  change_value(*line, random);
  text.replace(begin, end - begin, json_text(*line));
}

// A stretch between two separators: a line, a cell, a member.
struct Stretch {
  std::size_t begin = 0, size = 0;
};
Stretch any_stretch(std::string_view text, Random& random) {
  constexpr std::string_view kSeparators = "\n,|\t ;";
  const std::string_view separator = kSeparators.substr(below(kSeparators.size(), random), 1);
  std::size_t begin = text.rfind(separator, below(text.size(), random));
  begin = begin == text.npos ? 0 : begin + 1;
  const std::size_t end = text.find(separator, begin);
  return {begin, (end == text.npos ? text.size() : end + 1) - begin};
}

// A number in the text becomes another.
void change_number(std::string& text, Random& random) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t begin = text.find_first_of(kDigits, below(text.size(), random));
  if (begin == text.npos) return;
  const std::size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
  static const std::vector<std::string> kNumbers = {
      "0", "1", "-1", "1e9", "2147483647", "9223372036854775808", "99999999999999999999", "1e308"};
  text.replace(begin, end - begin, kNumbers[below(kNumbers.size(), random)]);
}

// A binary number, as lengths and offsets of binary formats are.
void change_integer(std::string& bytes, Random& random) {
  static constexpr std::uint64_t kValues[] = {
      0, 1, 7, 0x7F, 0xFF, 0x100, 0x7FFF'FFFF, 0x8000'0000, 0xFFFF'FFFF, ~std::uint64_t{0}};
  const std::size_t width = std::min(std::size_t{1} << below(4, random), bytes.size());
  const std::size_t at = below(bytes.size() - width + 1, random);
  std::uint64_t value = kValues[below(std::size(kValues), random)] + below(3, random) - 1;
  if (below(2, random) == 0) value = bytes.size() + below(5, random) - 2;
  for (std::size_t i = 0; i < width; ++i, value >>= 8) bytes[at + i] = static_cast<char>(value);
}

void change_once(std::string& bytes, Random& random) {
  const std::size_t at = below(bytes.size(), random);
  switch (below(12, random)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.insert(at, kPieces[below(std::size(kPieces), random)]);
      break;
    case 3:
      bytes.insert(at, bytes.substr(below(bytes.size(), random), below(80, random)));
      break;
    case 4:
      bytes.erase(at, 1 + below(20, random));
      break;
    case 5: {
      const Stretch from = any_stretch(bytes, random);
      bytes.insert(any_stretch(bytes, random).begin, bytes.substr(from.begin, from.size));
      break;
    }
    case 6: {
      const Stretch gone = any_stretch(bytes, random);
      bytes.erase(gone.begin, gone.size);
      break;
    }
    case 7:
      change_number(bytes, random);
      break;
    case 8:
      change_integer(bytes, random);
      break;
    default:
      change_json(bytes, random);
  }
}

}  // namespace

std::string mutated(std::string bytes, Random& random, std::size_t most) {
  for (std::size_t times = 1 + below(3, random); times > 0; --times) {
    if (bytes.empty()) bytes = kPieces[below(std::size(kPieces), random)];
    change_once(bytes, random);
  }
  if (bytes.size() > most) bytes.resize(most);
  return bytes;
}

std::string grown(const std::string& bytes, Random& random, std::size_t size) {
  if (bytes.empty()) return std::string(size, kPieces[below(std::size(kPieces), random)][0]);
  if (below(3, random) == 0)
    if (auto json = parse_json(bytes, "")) {
      Json& list = *any_value(*json, random);
      if (list.is_structured() && !list.empty()) {
        const Json member = *list.begin();
        const std::size_t times = size / (json_text(member).size() + 12);
        for (std::size_t i = 0; i < times; ++i) {
          if (list.is_array())
            list.push_back(member);
          else
            list["x" + std::to_string(i)] = member;
        }
        return json_text(*json).substr(0, size);
      }
    }
  const Stretch part = below(2, random) == 0
                           ? any_stretch(bytes, random)
                           : Stretch{below(bytes.size(), random), 1 + below(8, random)};
  const std::string piece = part.size > 0 ? bytes.substr(part.begin, part.size) : bytes;
  std::string repeated = bytes.substr(0, part.begin);
  while (repeated.size() + bytes.size() < size) repeated += piece;
  return repeated + bytes.substr(std::min(part.begin + part.size, bytes.size()));
}

}  // namespace nb::test
