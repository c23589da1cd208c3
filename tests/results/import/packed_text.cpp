#include "tests/results/import/packed_text.hpp"

#include <zlib.h>

#include <cstdint>

namespace nb::test {

std::string gzip_of(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string utf16_of(const std::string& utf8) {
  std::string text = "\xFF\xFE";
  for (std::size_t at = 0; at < utf8.size();) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(utf8[at + i]));
    };
    std::uint32_t c = byte(0);
    std::size_t length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (length > 1) c &= 0x7Fu >> length;
    for (std::size_t i = 1; i < length; ++i) c = c << 6 | (byte(i) & 0x3F);
    at += length;
    const auto put = [&](std::uint32_t unit) {
      text += static_cast<char>(unit & 0xFF);
      text += static_cast<char>(unit >> 8);
    };
    if (c >= 0x10000) {
      put(0xD800 + ((c - 0x10000) >> 10));
      put(0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      put(c);
    }
  }
  return text;
}

}  // namespace nb::test
