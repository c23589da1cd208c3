#include "model/engine/text_stream.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

std::size_t sequence_length(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 1;
}

}  // namespace

std::size_t unfinished_utf8(std::string_view bytes) {
  for (std::size_t size = 1; size <= std::min<std::size_t>(3, bytes.size()); ++size) {
    const std::string_view end = bytes.substr(bytes.size() - size);
    const std::size_t whole = sequence_length(static_cast<unsigned char>(end.front()));
    if (whole <= size) continue;
    // A lead that misses something; its beginning must be possible: one maximal subpart.
    return utf8_replace_invalid(end) == "\xEF\xBF\xBD" ? size : 0;
  }
  return 0;
}

std::string TextStream::push(int token) {
  held_ += tokenizer_.decode_bytes(std::span(&token, 1));
  const std::size_t rest = unfinished_utf8(held_);
  std::string text = utf8_replace_invalid(std::string_view(held_).substr(0, held_.size() - rest));
  held_.erase(0, held_.size() - rest);
  return text;
}

std::string TextStream::finish() { return utf8_replace_invalid(std::exchange(held_, {})); }

}  // namespace nb
