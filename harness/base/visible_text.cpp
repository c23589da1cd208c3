#include "harness/base/visible_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace nb {
namespace {

struct HiddenRange {
  std::uint32_t first;
  std::uint32_t last;
};

// Beyond ASCII: they move, turn or hide what stands beside them, and show nothing of themselves.
constexpr std::array kHidden = {
    HiddenRange{0x80, 0x9f},         // controls; U+009B is ESC [
    HiddenRange{0xad, 0xad},         // soft hyphen
    HiddenRange{0x34f, 0x34f},       // grapheme joiner
    HiddenRange{0x61c, 0x61c},       // Arabic letter mark
    HiddenRange{0x115f, 0x1160},     // Hangul fillers
    HiddenRange{0x17b4, 0x17b5},     // Khmer vowels that are not written
    HiddenRange{0x180b, 0x180f},     // Mongolian selectors and separator
    HiddenRange{0x200b, 0x200b},     // zero-width space
    HiddenRange{0x200e, 0x200f},     // left-to-right and right-to-left marks
    HiddenRange{0x2028, 0x202e},     // line and paragraph separators; embeddings and overrides
    HiddenRange{0x2060, 0x206f},     // joiners, isolates
    HiddenRange{0x3164, 0x3164},     // Hangul filler
    HiddenRange{0xfeff, 0xfeff},     // byte order mark
    HiddenRange{0xffa0, 0xffa0},     // Hangul filler
    HiddenRange{0xfff0, 0xfffb},     // annotations
    HiddenRange{0xfffe, 0xffff},     // no characters; XML forbids them
    HiddenRange{0x1d173, 0x1d17a},   // of music
    HiddenRange{0xe0000, 0xe0fff}};  // tags and selectors: a whole sentence can hide in them
// They join letters of scripts and parts of signs; beside Latin letters they only hide.
constexpr HiddenRange kJoiners = {0x200c, 0x200d};
constexpr std::uint32_t kFirstJoined = 0x600;  // Arabic; before it no script needs a joiner

bool is_in(const HiddenRange& range, std::uint32_t code) {
  return range.first <= code && code <= range.last;
}

struct CodePoint {
  std::uint32_t code = 0;
  std::size_t size = 0;  // bytes; 0: none that is UTF-8 begins here
};

CodePoint code_point_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead < 0xc2   ? 0
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                           : lead < 0xf5 ? 4
                                         : 0;
  if (size == 0 || at + size > text.size()) return {};
  std::uint32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[size] || code > 0x10ffff || is_surrogate) return {};
  return {code, size};
}

// Between two characters of scripts or signs that joiners are made for.
bool joins(std::string_view text, std::size_t at, std::uint32_t before) {
  const CodePoint after = code_point_at(text, at);
  return before >= kFirstJoined && after.code >= kFirstJoined && !is_in(kJoiners, after.code);
}

enum class Escapes { kText, kLine, kJson };

bool is_harmful(unsigned char byte, Escapes escapes) {
  if (byte == '\n' || byte == '\t') return escapes == Escapes::kLine;
  return byte < ' ' || byte >= 0x7f;
}

std::string escape_of(std::uint32_t code, Escapes escapes) {
  if (escapes == Escapes::kJson && code > 0xffff)
    return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((code - 0x10000) >> 10),
                       0xdc00 + ((code - 0x10000) & 0x3ff));
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code < 0x80 && escapes != Escapes::kJson) return fmt::format("\\x{:02x}", code);
  return code > 0xffff ? fmt::format("\\U{:08x}", code) : fmt::format("\\u{:04x}", code);
}

std::string escaped(std::string_view text, Escapes escapes) {
  const auto harmful = [&](char c) { return is_harmful(static_cast<unsigned char>(c), escapes); };
  std::string out;
  std::uint32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    // Mostly there is nothing to do.
    const auto* const next = std::find_if(text.begin() + at, text.end(), harmful);
    if (const auto end = static_cast<std::size_t>(next - text.begin()); end > at) {
      out += text.substr(at, end - at);
      before = 0;  // ASCII
      at = end;
      continue;
    }
    const CodePoint here = code_point_at(text, at);
    if (here.size == 0) {
      // JSON that was dumped is UTF-8; a byte that is not has no escape there.
      out += escapes == Escapes::kJson
                 ? "\\ufffd"
                 : fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
      ++at;
      before = 0;
      continue;
    }
    const bool hides =
        here.size == 1 ||
        std::any_of(kHidden.begin(), kHidden.end(),
                    [&](const HiddenRange& range) { return is_in(range, here.code); }) ||
        (is_in(kJoiners, here.code) && !joins(text, at + here.size, before));
    if (hides)
      out += escape_of(here.code, escapes);
    else
      out += text.substr(at, here.size);
    at += here.size;
    before = hides ? 0 : here.code;
  }
  return out;
}

}  // namespace

std::string visible_text(std::string_view text) { return escaped(text, Escapes::kText); }
std::string visible_line(std::string_view text) { return escaped(text, Escapes::kLine); }
std::string visible_json(std::string_view json) { return escaped(json, Escapes::kJson); }

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = code_point_at(text, at).size;
    if (size == 0) return false;
    at += size;
  }
  return true;
}

std::string utf8_text(std::string text) { return is_utf8(text) ? text : visible_text(text); }

}  // namespace nb
