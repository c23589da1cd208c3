#include "model/tokenizer/train_tokenizer.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/tokenizer/byte_map.hpp"
#include "model/tokenizer/pair_trainer.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

constexpr std::int64_t kBytes = 256;
constexpr std::size_t kDocumentsPerBlock = 256;

// The first code points of the text. Bytes that are not UTF-8 count as one code point each.
std::string_view crop(std::string_view text, std::int64_t code_points) {
  if (static_cast<std::int64_t>(text.size()) <= code_points) return text;
  std::size_t end = 0;
  for (std::int64_t i = 0; i < code_points && end < text.size(); ++i)
    end += std::max<std::size_t>(1, utf8_sequence_length(text.substr(end)));
  return text.substr(0, end);
}

std::int64_t code_points_of(std::string_view text) {
  std::int64_t count = 0;
  while (!text.empty()) {
    const std::size_t valid = utf8_valid_prefix(text);
    count += static_cast<std::int64_t>(utf8_code_points(text.substr(0, valid)));
    text.remove_prefix(valid);
    if (text.empty()) break;
    ++count;
    text.remove_prefix(1);
  }
  return count;
}

// The cropped documents up to and including the one that makes the sum exceed max_chars.
std::vector<std::string_view> crop_stream(std::span<const std::string> documents,
                                          const TokenizerSettings& settings) {
  std::vector<std::string_view> texts;
  std::int64_t chars = 0;
  for (const std::string& document : documents) {
    texts.push_back(crop(document, settings.doc_cap));
    chars += code_points_of(texts.back());
    if (chars > settings.max_chars) break;
  }
  return texts;
}

// Pieces with their counts, in the order of first appearance.
class PieceCounts {
 public:
  void add(std::string_view piece, std::int64_t count) {
    const std::uint64_t hash = hash_bytes(piece);
    const std::uint32_t index = index_.find(piece, hash);
    if (index != ByteMap::kNone) {
      pieces_[index].count += count;
      return;
    }
    index_.insert(piece, hash, static_cast<std::uint32_t>(pieces_.size()));
    pieces_.push_back({piece, count});
  }
  const std::vector<CountedPiece>& pieces() const { return pieces_; }

 private:
  ByteMap index_;
  std::vector<CountedPiece> pieces_;
};

// Views into the documents. Blocks of documents are counted in parallel and joined in their order.
std::vector<CountedPiece> count_pieces(const std::vector<std::string_view>& texts) {
  const SplitPattern pattern(SplitRule::kNanochat);
  const std::size_t blocks = (texts.size() + kDocumentsPerBlock - 1) / kDocumentsPerBlock;
  std::vector<PieceCounts> counts(blocks);
  parallel_for(blocks, 1, [&](std::size_t block) {
    SplitScratch scratch;
    std::vector<std::string_view> pieces;
    const std::size_t end = std::min(texts.size(), (block + 1) * kDocumentsPerBlock);
    for (std::size_t i = block * kDocumentsPerBlock; i < end; ++i) {
      pattern.split(texts[i], scratch, pieces);
      for (const std::string_view piece : pieces) counts[block].add(piece, 1);
    }
  });
  PieceCounts all;
  for (const PieceCounts& block : counts)
    for (const CountedPiece& piece : block.pieces()) all.add(piece.bytes, piece.count);
  return all.pieces();
}

}  // namespace

FieldList TokenizerSettings::fields() {
  return {{"vocab_size",
           "bytes, merges and the nine specials together",
           &vocab_size,
           {.unit = "token", .min = 265, .max = 1'000'000}},
          {"doc_cap", "code points used of each document", &doc_cap, {.min = 1}},
          {"max_chars", "stop after the document that exceeds this total", &max_chars, {.min = 1}}};
}

Result<Tokenizer> train_tokenizer(std::span<const std::string> documents,
                                  const TokenizerSettings& settings) {
  const auto specials = static_cast<std::int64_t>(nanochat_specials().size());
  const std::int64_t merges = settings.vocab_size - kBytes - specials;
  if (merges < 0)
    return bad_input(fmt::format("tokenizer: vocab_size {} is below {}, the bytes and the specials",
                                 settings.vocab_size, kBytes + specials));
  const std::vector<std::string_view> texts = crop_stream(documents, settings);
  const auto made = train_merges(count_pieces(texts), static_cast<std::size_t>(merges));
  if (static_cast<std::int64_t>(made.size()) < merges)
    return bad_input(
        fmt::format("tokenizer: {} documents have pairs for a vocabulary of {} only, not {}; use a "
                    "smaller vocab_size or more text",
                    texts.size(), kBytes + specials + static_cast<std::int64_t>(made.size()),
                    settings.vocab_size));
  Vocabulary vocabulary;
  vocabulary.rule = SplitRule::kNanochat;
  for (int byte = 0; byte < kBytes; ++byte)
    vocabulary.tokens.emplace_back(1, static_cast<char>(static_cast<unsigned char>(byte)));
  for (const auto& [left, right] : made)
    vocabulary.tokens.push_back(vocabulary.tokens[left] + vocabulary.tokens[right]);
  append_nanochat_specials(vocabulary);
  NB_TRY_VOID(check_vocabulary(vocabulary, "trained vocabulary"));
  return Tokenizer(std::move(vocabulary));
}

Result<Tokenizer> train_tokenizer(std::span<const std::string> documents, std::int64_t vocab_size) {
  TokenizerSettings settings;
  settings.vocab_size = vocab_size;
  return train_tokenizer(documents, settings);
}

}  // namespace nb
