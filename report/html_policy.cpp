#include <fmt/core.h>

#include <charconv>

#include "harness/base/base64.hpp"
#include "harness/base/hash.hpp"
#include "report/html.hpp"

namespace nb {
namespace {

// A source of the policy (CSP level 2): the one inline block with exactly these bytes.
std::string block_source(std::string_view block) {
  if (block.empty()) return "'none'";
  const std::string hex = sha256_hex(block);
  std::string digest;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned char byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    digest += static_cast<char>(byte);
  }
  return "'sha256-" + base64_encode(digest) + "'";
}

}  // namespace

std::string html_policy(std::string_view style, std::string_view script) {
  return fmt::format(
      "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      block_source(style), block_source(script));
}

}  // namespace nb
