#include "harness/base/hash.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"

namespace nb {

namespace {

struct Digest {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Digest() {
    NB_CHECK(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1,
             "[sha256] libcrypto cannot start a digest");
  }
  ~Digest() { EVP_MD_CTX_free(context); }
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  // The same algorithm once more: OpenSSL 3 looks it up for a microsecond where it is named.
  void restart() {
    NB_CHECK(EVP_DigestInit_ex(context, nullptr, nullptr) == 1,
             "[sha256] libcrypto cannot start a digest again");
  }

  void update(std::span<const std::byte> bytes) {
    NB_CHECK(EVP_DigestUpdate(context, bytes.data(), bytes.size()) == 1,
             "[sha256] libcrypto cannot digest {} bytes", bytes.size());
  }

  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    NB_CHECK(EVP_DigestFinal_ex(context, digest.data(), &size) == 1 && size == 32,
             "[sha256] libcrypto cannot end a digest");
    std::string text(2 * std::size_t{size}, '0');
    for (unsigned i = 0; i < size; ++i) {
      text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
      text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    return text;
  }
};

std::span<const std::byte> raw_bytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text));
}

}  // namespace

struct Sha256::State : Digest {};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) { update(raw_bytes(bytes)); }

void Sha256::update(std::span<const std::byte> bytes) {
  NB_CHECK(state_ != nullptr, "[sha256] update after hex()");
  state_->update(bytes);
}

std::string Sha256::hex() {
  NB_CHECK(state_ != nullptr, "[sha256] hex() called twice");
  const std::string text = state_->hex();
  state_.reset();
  return text;
}

void update_netstring(Sha256& hash, std::string_view text) {
  hash.update(std::to_string(text.size()) + ":");
  hash.update(text);
}

std::string sha256_hex(std::string_view bytes) {
  thread_local Digest digest;
  digest.restart();
  digest.update(raw_bytes(bytes));
  return digest.hex();
}

Result<std::string> sha256_file(const std::filesystem::path& path) {
  NB_TRY(const MappedFile file, MappedFile::open(path));
  constexpr std::size_t kAtOnce = std::size_t{4} << 20;  // so that large files take no memory
  const std::span<const std::byte> bytes = file.bytes();
  Sha256 hash;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, bytes.size() - begin);
    hash.update(bytes.subspan(begin, count));
    file.release(begin, begin + count);
  }
  return hash.hex();
}

std::string sha256_json(const Json& value) {
  const Result<std::string> text = dump_json(value, -1);
  NB_CHECK(text.has_value(), "[sha256_json] {}", text.error().message);
  return sha256_hex(*text);
}

}  // namespace nb
