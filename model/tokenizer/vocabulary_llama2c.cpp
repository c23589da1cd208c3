#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "model/tokenizer/vocabulary_files.hpp"

namespace nb {
namespace {

constexpr int kSpecials = 3;  // <unk>, <s>, </s>
constexpr int kFirstPiece = kSpecials + 256;
constexpr std::int32_t kLongestPiece = 1024;  // bytes; SentencePiece's own limit is far lower

// The bytes that are left; every read says whether it fits.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes), size_(bytes.size()) {}
  std::size_t position() const { return size_ - bytes_.size(); }
  bool is_at_end() const { return bytes_.empty(); }

  template <class Number>
  std::optional<Number> number() {
    static_assert(sizeof(Number) == 4);
    if (bytes_.size() < sizeof(Number)) return std::nullopt;
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i)
      word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    bytes_.remove_prefix(sizeof(Number));
    Number value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }
  std::optional<std::string_view> text(std::size_t size) {
    if (bytes_.size() < size) return std::nullopt;
    const std::string_view front = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return front;
  }

 private:
  std::string_view bytes_;
  std::size_t size_;
};

struct Entry {
  float score = 0;
  std::string_view piece;
};

std::optional<Entry> read_entry(Reader& reader) {
  const auto score = reader.number<float>();
  const auto size = reader.number<std::int32_t>();
  if (!score || !size || *size < 1 || *size > kLongestPiece) return std::nullopt;
  const auto piece = reader.text(static_cast<std::size_t>(*size));
  if (!piece) return std::nullopt;
  return Entry{*score, *piece};
}

}  // namespace

bool is_llama2c_tokenizer(std::string_view bytes) {
  Reader reader(bytes);
  const auto longest = reader.number<std::int32_t>();
  if (!longest || *longest < 1 || *longest > kLongestPiece) return false;
  const auto first = read_entry(reader);
  return first && first->piece == "<unk>";
}

Result<Vocabulary> parse_llama2c_tokenizer(std::string_view bytes, const std::string& where) {
  Reader reader(bytes);
  if (!reader.number<std::int32_t>())
    return bad_input(where + ": truncated at byte 0; a tokenizer.bin begins with an int32");
  Vocabulary vocabulary;
  vocabulary.rule = SplitRule::kSentencePiece;
  float last_score = INFINITY;
  while (!reader.is_at_end()) {
    const std::size_t at = reader.position();
    const int id = vocabulary.size();
    const auto entry = read_entry(reader);
    if (!entry)
      return bad_input(fmt::format(
          "{}: token {} at byte {} is truncated or has an impossible length; copy the file again",
          where, id, at));
    if (id < kSpecials) {
      static constexpr std::string_view kNames[] = {"<unk>", "<s>", "</s>"};
      vocabulary.specials.push_back({std::string(kNames[id]), id});
      vocabulary.tokens.emplace_back();
    } else if (id < kFirstPiece) {
      const int byte = id - kSpecials;
      if (entry->piece != fmt::format("<0x{:02X}>", byte))
        return bad_input(
            fmt::format("{}: token {} at byte {} is \"{}\", not <0x{:02X}>; only vocabularies with "
                        "byte fallback are supported",
                        where, id, at, entry->piece, byte));
      vocabulary.tokens.emplace_back(1, static_cast<char>(static_cast<unsigned char>(byte)));
      vocabulary.byte_ids.push_back(id);
    } else {
      if (!(entry->score < last_score))
        return bad_input(
            fmt::format("{}: the score {} of token {} at byte {} is not below the one before; "
                        "merges are chosen by id, so scores must decrease",
                        where, entry->score, id, at));
      last_score = entry->score;
      vocabulary.tokens.emplace_back(entry->piece);
    }
  }
  NB_TRY_VOID(check_vocabulary(vocabulary, where));
  return vocabulary;
}

}  // namespace nb
