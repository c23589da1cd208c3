#include "harness/base/base64.hpp"

#include <openssl/evp.h>

#include <limits>

#include "harness/base/check.hpp"

namespace nb {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

std::string base64_encode(std::string_view bytes) {
  NB_CHECK(bytes.size() < std::numeric_limits<int>::max() / 2, "[base64] {} bytes at once",
           bytes.size());
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero
  const int length =
      EVP_EncodeBlock(bytes_of(out), bytes_of(bytes), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() >= std::numeric_limits<int>::max() / 2)
    return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(bytes_of(out), bytes_of(text), static_cast<int>(text.size())) < 0)
    return std::nullopt;
  // OpenSSL counts padding as bytes, and passes over white space and bits that no byte has.
  for (int i = 0; i < 2 && text.ends_with('='); ++i, text.remove_suffix(1)) out.pop_back();
  const std::string written = base64_encode(out);
  if (!written.starts_with(text) || written.size() != (text.size() + 3) / 4 * 4)
    return std::nullopt;
  return out;
}

}  // namespace nb
