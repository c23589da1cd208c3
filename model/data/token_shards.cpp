#include "model/data/token_shards.hpp"

#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"

namespace nb {
namespace {

static_assert(std::endian::native == std::endian::little, "shards are read as they lie");

constexpr std::string_view kMagic = "NBTOKENS";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kHeaderBytes = 8 + 4 + 4 + 8 + 8 + 8 + kHashBytes;
constexpr std::uint64_t kLargestCount = std::uint64_t{1} << 48U;  // of documents and ids
constexpr std::uint64_t kLargestVocabulary = std::numeric_limits<int>::max();

template <class T>
T load(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}
template <class T>
void store(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}
std::string from_hex(std::string_view hex) {
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(static_cast<unsigned char>(nibble(hex[i]) * 16 + nibble(hex[i + 1])));
  return out;
}
bool is_sha256_hex(std::string_view text) {
  return text.size() == 2 * kHashBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

struct TokenShard::State {
  std::string image;                 // the whole file, when held in memory
  std::optional<MappedFile> mapped;  // else
  std::uint32_t id_bytes = 0;
  std::uint64_t vocab_size = 0, documents = 0, tokens = 0;
  std::string tokenizer_hash, sha256;
  const char* starts = nullptr;  // (documents + 1) × u64
  const char* ids = nullptr;

  std::uint64_t start(std::uint64_t document) const {
    return load<std::uint64_t>(starts + 8 * document);
  }
  std::uint32_t id(std::uint64_t i) const {
    return id_bytes == 2 ? load<std::uint16_t>(ids + 2 * i) : load<std::uint32_t>(ids + 4 * i);
  }
  Result<void> parse(std::string_view file, const std::string& where);
  Result<void> check_content(const std::string& where) const;
};

Result<void> TokenShard::State::parse(std::string_view file, const std::string& where) {
  if (!file.starts_with(kMagic))
    return bad_input(
        fmt::format("{}: not a token shard (it does not begin with {})", where, kMagic));
  const std::uint32_t version = file.size() < 12 ? 0 : load<std::uint32_t>(file.data() + 8);
  if (file.size() >= 12 && version != kVersion)
    return bad_input(
        fmt::format("{}: token shard of version {}, this program reads version {}; make it again",
                    where, version, kVersion));
  if (file.size() < kHeaderBytes + 8 + kHashBytes)
    return bad_input(
        fmt::format("{}: {} bytes are too few for a token shard and its SHA-256; it was truncated; "
                    "make it again",
                    where, file.size()));
  const std::string_view content = file.substr(0, file.size() - kHashBytes);
  const std::string stored = to_hex(file.substr(content.size()));
  sha256 = sha256_hex(content);
  if (sha256 != stored)
    return bad_input(
        fmt::format("{}: content has SHA-256 {}, the file ends with {}; it was altered or "
                    "truncated; make it again",
                    where, sha256, stored));
  const char* data = content.data();
  id_bytes = load<std::uint32_t>(data + 12);
  vocab_size = load<std::uint64_t>(data + 16);
  documents = load<std::uint64_t>(data + 24);
  tokens = load<std::uint64_t>(data + 32);
  tokenizer_hash = to_hex(content.substr(40, kHashBytes));
  if ((id_bytes != 2 && id_bytes != 4) || vocab_size > kLargestVocabulary ||
      documents > kLargestCount || tokens > kLargestCount ||
      content.size() != kHeaderBytes + 8 * (documents + 1) + id_bytes * tokens)
    return bad_input(
        fmt::format("{}: SHA-256 fits, but {} documents and {} ids of {} bytes, of a vocabulary of "
                    "{}, do not make {} bytes; another program wrote it",
                    where, documents, tokens, id_bytes, vocab_size, file.size()));
  starts = data + kHeaderBytes;
  ids = starts + 8 * (documents + 1);
  return check_content(where);
}

Result<void> TokenShard::State::check_content(const std::string& where) const {
  bool is_sound = start(0) == 0 && start(documents) == tokens;
  for (std::uint64_t d = 0; is_sound && d < documents; ++d) is_sound = start(d) <= start(d + 1);
  for (std::uint64_t i = 0; is_sound && i < tokens; ++i) is_sound = id(i) < vocab_size;
  if (is_sound) return {};
  return bad_input(
      fmt::format("{}: SHA-256 fits, but the document starts or the ids are out of range; "
                  "another program wrote it",
                  where));
}

TokenShard::TokenShard(std::unique_ptr<State> state) : state_(std::move(state)) {}
TokenShard::~TokenShard() = default;
TokenShard::TokenShard(TokenShard&&) noexcept = default;
TokenShard& TokenShard::operator=(TokenShard&&) noexcept = default;

Result<TokenShard> TokenShard::open(const std::filesystem::path& path) {
  auto state = std::make_unique<State>();
  NB_TRY(state->mapped, MappedFile::open(path));
  const std::span<const std::byte> bytes = state->mapped->bytes();
  NB_TRY_VOID(
      state->parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string()));
  return TokenShard(std::move(state));
}

TokenShard TokenShard::encode(std::span<const std::string> documents, const Tokenizer& tokenizer) {
  NB_CHECK(tokenizer.bos() >= 0, "[token_shards] the tokenizer has no <|bos|>");
  std::vector<int> ids;
  std::vector<std::uint64_t> starts = {0};
  for (const std::vector<int>& document : tokenizer.encode_batch(documents, tokenizer.bos())) {
    ids.insert(ids.end(), document.begin(), document.end());
    starts.push_back(ids.size());
  }
  return from_ids(ids, starts, tokenizer.vocab_size(), tokenizer.hash());
}

TokenShard TokenShard::from_ids(const std::vector<int>& ids,
                                const std::vector<std::uint64_t>& document_starts,
                                std::int64_t vocab_size, const std::string& tokenizer_hash) {
  NB_CHECK(!document_starts.empty() && is_sha256_hex(tokenizer_hash) && vocab_size > 0,
           "[token_shards] {} document starts, tokenizer hash {}, vocabulary of {}",
           document_starts.size(), tokenizer_hash, vocab_size);
  for (const int id : ids)
    NB_CHECK(id >= 0 && id < vocab_size, "[token_shards] id {} of {}", id, vocab_size);
  const std::uint32_t id_bytes = vocab_size <= 0x10000 ? 2 : 4;
  auto state = std::make_unique<State>();
  std::string& image = state->image;
  image.reserve(kHeaderBytes + 8 * document_starts.size() + id_bytes * ids.size() + kHashBytes);
  image = kMagic;
  store(image, kVersion);
  store(image, id_bytes);
  store(image, static_cast<std::uint64_t>(vocab_size));
  store(image, static_cast<std::uint64_t>(document_starts.size() - 1));
  store(image, static_cast<std::uint64_t>(ids.size()));
  image += from_hex(tokenizer_hash);
  for (const std::uint64_t start : document_starts) store(image, start);
  for (const int id : ids) {
    if (id_bytes == 2)
      store(image, static_cast<std::uint16_t>(id));
    else
      store(image, static_cast<std::uint32_t>(id));
  }
  image += from_hex(sha256_hex(image));
  const Result<void> parsed = state->parse(image, "token shard");
  NB_CHECK(parsed.has_value(), "[token_shards] {}", parsed.error().message);
  return TokenShard(std::move(state));
}

Result<void> TokenShard::write(const std::filesystem::path& path) const {
  if (!state_->mapped) return write_file(path, state_->image);
  const std::span<const std::byte> bytes = state_->mapped->bytes();
  return write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::uint64_t TokenShard::documents() const { return state_->documents; }
std::uint64_t TokenShard::tokens() const { return state_->tokens; }
std::int64_t TokenShard::vocab_size() const {
  return static_cast<std::int64_t>(state_->vocab_size);
}
const std::string& TokenShard::tokenizer_hash() const { return state_->tokenizer_hash; }
const std::string& TokenShard::sha256() const { return state_->sha256; }

std::uint64_t TokenShard::document_start(std::uint64_t document) const {
  NB_CHECK(document <= documents(), "[token_shards] document {} of {}", document, documents());
  return state_->start(document);
}

void TokenShard::copy(std::uint64_t begin, std::span<int> out) const {
  NB_CHECK(begin <= tokens() && out.size() <= tokens() - begin, "[token_shards] ids {} + {} of {}",
           begin, out.size(), tokens());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int>(state_->id(begin + i));
}

}  // namespace nb
