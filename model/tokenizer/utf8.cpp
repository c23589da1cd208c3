#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

struct Sequence {
  std::size_t length;  // bytes of the well-formed sequence, or of the maximal subpart to replace
  bool valid;
};

// Unicode 15.0 table 3-7; text is not empty.
Sequence scan(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return {1, true};
  std::size_t length = 0;
  unsigned low = 0x80, high = 0xBF;  // of the second byte
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte_at(text, i) < low || byte_at(text, i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const Sequence sequence = scan(text);
  return sequence.valid ? sequence.length : 0;
}

std::size_t utf8_valid_prefix(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (byte_at(text, i) < 0x80) {
      ++i;
      continue;
    }
    const Sequence sequence = scan(text.substr(i));
    if (!sequence.valid) return i;
    i += sequence.length;
  }
  return i;
}

std::string utf8_replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t valid = utf8_valid_prefix(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) break;
    out.append("\xEF\xBF\xBD");
    text.remove_prefix(scan(text).length);
  }
  return out;
}

std::size_t utf8_code_points(std::string_view valid_text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < valid_text.size(); ++i)
    count += (byte_at(valid_text, i) & 0xC0U) != 0x80U;
  return count;
}

std::size_t utf8_prefix_bytes(std::string_view valid_text, std::size_t code_points) {
  std::size_t i = 0;
  for (; i < valid_text.size(); ++i) {
    if ((byte_at(valid_text, i) & 0xC0U) == 0x80U) continue;
    if (code_points == 0) break;
    --code_points;
  }
  return i;
}

}  // namespace nb
