#include "model/tokenizer/base64.hpp"

#include <cstddef>
#include <cstdint>

namespace nb {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= count ? kDigits[word >> (18U - 6U * k) & 63U] : '=';
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t word = 0;
    std::size_t digits = 0;
    for (; digits < 4; ++digits) {
      const int value = digit(text[i + digits]);
      if (value < 0) break;
      word |= static_cast<std::uint32_t>(value) << (18U - 6U * digits);
    }
    const bool is_last = i + 4 == text.size();
    for (std::size_t k = digits; k < 4; ++k)
      if (!is_last || text[i + k] != '=') return std::nullopt;
    if (digits < 2) return std::nullopt;
    for (std::size_t k = 0; k + 1 < digits; ++k)
      out += static_cast<char>(static_cast<unsigned char>(word >> (16U - 8U * k)));
    if (digits < 4 && (word & (0xFFFFFFU >> (8U * (digits - 1)))) != 0) return std::nullopt;
  }
  return out;
}

}  // namespace nb
