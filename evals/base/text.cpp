#include "evals/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace nb {
namespace {

// str.isspace() of CPython 3.11: bidirectional type WS, B, S or category Zs.
constexpr std::array<std::uint32_t, 29> kSpaces = {
    0x09,   0x0a,   0x0b,   0x0c,   0x0d,   0x1c,   0x1d,   0x1e,   0x1f,   0x20,
    0x85,   0xa0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
    0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};

bool is_space(std::uint32_t code_point) {
  return std::binary_search(kSpaces.begin(), kSpaces.end(), code_point);
}

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_continuation(std::string_view text, std::size_t i) {
  return i < text.size() && (byte_at(text, i) & 0xc0) == 0x80;
}

// Bytes of the sequence that starts there, by its first byte; 0: none starts so.
std::size_t sequence_length(std::uint32_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

std::uint32_t decode(std::string_view text, std::size_t begin, std::size_t length) {
  const std::uint32_t first = byte_at(text, begin);
  std::uint32_t value = length == 1 ? first : first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) value = value << 6 | (byte_at(text, begin + i) & 0x3f);
  return value;
}

}  // namespace

std::size_t leading_space(std::string_view text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t length = sequence_length(byte_at(text, begin));
    if (length == 0 || begin + length > text.size() || !is_space(decode(text, begin, length)))
      break;
    begin += length;
  }
  return begin;
}

std::string_view strip(std::string_view text) {
  const std::size_t begin = leading_space(text);
  std::size_t end = text.size();
  while (end > begin) {
    std::size_t last = end - 1;
    while (last > begin && is_continuation(text, last)) --last;
    if (sequence_length(byte_at(text, last)) != end - last ||
        !is_space(decode(text, last, end - last)))
      break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

}  // namespace nb
