#include "model/tokenizer/tokenizer.hpp"

#include <algorithm>
#include <mutex>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/tokenizer/byte_map.hpp"
#include "model/tokenizer/merge_table.hpp"
#include "model/tokenizer/nfc.hpp"
#include "model/tokenizer/piece_cache.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

// What one encoding thread writes to. Borrowed from the tokenizer, so warm caches outlive a call.
struct EncodeScratch {
  SplitScratch split;
  PieceCache cache;
  std::vector<std::string_view> pieces;
};

// Ids of ordinary tokens by their bytes; the keys point into the vocabulary.
ByteMap index_tokens(const Vocabulary& vocabulary) {
  ByteMap map(vocabulary.tokens.size());
  const std::vector<bool> is_byte_id = byte_id_flags(vocabulary);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (!vocabulary.tokens[id].empty() && !is_byte_id[id])
      map.insert(vocabulary.tokens[id], static_cast<std::uint32_t>(id));
  return map;
}

}  // namespace

struct Tokenizer::State {
  Vocabulary vocabulary;
  SplitPattern split;
  ByteMap tokens;
  MergeTable merges;
  std::vector<const std::string*> special_names;  // by id; null for ordinary tokens
  std::vector<int> true_bytes;
  std::vector<int> nanochat_bytes;
  int bos = -1;
  std::string hash;
  bool puts_space_in_front = false;
  std::shared_ptr<const TextCodec> codec;  // nullptr: the vocabulary encodes
  std::mutex mutex;
  std::vector<std::unique_ptr<EncodeScratch>> idle;  // guarded by mutex

  explicit State(Vocabulary v)
      : vocabulary(std::move(v)),
        split(vocabulary.rule),
        tokens(index_tokens(vocabulary)),
        merges(vocabulary, tokens),
        special_names(vocabulary.tokens.size()),
        hash(vocabulary_hash(vocabulary)),
        puts_space_in_front(vocabulary.rule == SplitRule::kSentencePiece) {
    for (const SpecialToken& special : vocabulary.specials)
      special_names[static_cast<std::size_t>(special.id)] = &special.name;
    count_bytes();
  }

  void count_bytes() {
    for (const std::string& token : vocabulary.tokens) {
      true_bytes.push_back(static_cast<int>(token.size()));
      const bool looks_special =
          std::any_of(vocabulary.specials.begin(), vocabulary.specials.end(),
                      [&](const SpecialToken& s) { return s.name == token; });
      nanochat_bytes.push_back(
          looks_special ? 0 : static_cast<int>(utf8_replace_invalid(token).size()));
    }
  }

  std::unique_ptr<EncodeScratch> borrow() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<EncodeScratch>();
    std::unique_ptr<EncodeScratch> scratch = std::move(idle.back());
    idle.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<EncodeScratch> scratch) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(scratch));
  }

  // SentencePiece: a space in front, then code points (bytes where the vocabulary has none) merge.
  void encode_code_points(std::string_view text, std::vector<int>& ids) const {
    if (text.empty()) return;
    const std::string spaced = " " + std::string(text);
    std::vector<std::uint32_t> parts;
    parts.reserve(spaced.size());
    for (std::string_view rest = spaced; !rest.empty();) {
      const std::size_t length = std::max<std::size_t>(1, utf8_sequence_length(rest));
      const std::uint32_t id = tokens.find(rest.substr(0, length));
      if (id != ByteMap::kNone) {
        parts.push_back(id);
      } else {
        for (const char byte : rest.substr(0, length)) {
          parts.push_back(
              static_cast<std::uint32_t>(vocabulary.byte_ids[static_cast<unsigned char>(byte)]));
        }
      }
      rest.remove_prefix(length);
    }
    merges.merge_parts(parts, ids);
  }

  void encode_piece(std::string_view piece, PieceCache& cache, std::vector<int>& ids) const {
    const std::uint64_t hash_of_piece = hash_bytes(piece);
    if (const std::uint32_t id = tokens.find(piece, hash_of_piece); id != ByteMap::kNone) {
      ids.push_back(static_cast<int>(id));
      return;
    }
    if (const auto known = cache.find(piece, hash_of_piece); !known.empty()) {
      ids.insert(ids.end(), known.begin(), known.end());
      return;
    }
    const std::size_t begin = ids.size();
    merges.merge(piece, ids);
    cache.insert(piece, hash_of_piece, std::span(ids).subspan(begin));
  }
};

Tokenizer::Tokenizer(Vocabulary vocabulary) {
  const Result<void> checked = check_vocabulary(vocabulary, "vocabulary");
  NB_CHECK(checked.has_value(), "[tokenizer] {}", checked.error().message);
  state_ = std::make_unique<State>(std::move(vocabulary));
  for (const std::string_view name : {"<|bos|>", "<|endoftext|>", "<|begin_of_text|>", "<s>"})
    if (state_->bos < 0) state_->bos = special(name);
}

Tokenizer::Tokenizer(std::shared_ptr<const TextCodec> codec, CodecFacts facts) {
  Vocabulary vocabulary;
  vocabulary.tokens.resize(static_cast<std::size_t>(facts.vocab_size));
  for (const SpecialToken& special : facts.specials)
    NB_CHECK(special.id >= 0 && special.id < facts.vocab_size,
             "[tokenizer] special token {} among {} ids", special.id, facts.vocab_size);
  vocabulary.specials = std::move(facts.specials);
  state_ = std::make_unique<State>(std::move(vocabulary));
  state_->codec = std::move(codec);
  state_->hash = std::move(facts.hash);
  state_->bos = facts.bos;
  state_->puts_space_in_front = facts.puts_space_in_front;
}

Tokenizer Tokenizer::with_specials(std::span<const std::string> names) const {
  Vocabulary vocabulary = state_->vocabulary;
  for (const std::string& name : names) {
    if (special(name) >= 0) continue;
    vocabulary.specials.push_back({name, vocabulary.size()});
    vocabulary.tokens.emplace_back();
  }
  if (state_->codec == nullptr) return Tokenizer(std::move(vocabulary));
  const int size = vocabulary.size();
  return Tokenizer(state_->codec, {size, state_->bos, std::move(vocabulary.specials),
                                   state_->puts_space_in_front, state_->hash});
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

void Tokenizer::encode_append(std::string_view text, std::vector<int>& ids) const {
  if (state_->codec != nullptr) {
    const std::string one(text);
    const std::vector<int> more = state_->codec->encode(std::span(&one, 1)).front();
    ids.insert(ids.end(), more.begin(), more.end());
    return;
  }
  if (state_->vocabulary.rule == SplitRule::kSentencePiece) {
    return state_->encode_code_points(text, ids);
  }
  std::string normal;
  if (state_->vocabulary.rule == SplitRule::kQwen2) text = normal = nfc(text);
  std::unique_ptr<EncodeScratch> scratch = state_->borrow();
  state_->split.split(text, scratch->split, scratch->pieces);
  for (const std::string_view piece : scratch->pieces)
    state_->encode_piece(piece, scratch->cache, ids);
  state_->give_back(std::move(scratch));
}

std::vector<int> Tokenizer::encode(std::string_view text) const {
  std::vector<int> ids;
  ids.reserve(text.size() / 3 + 1);
  encode_append(text, ids);
  return ids;
}

std::vector<int> Tokenizer::encode(std::string_view text, int prepended) const {
  NB_CHECK(prepended >= 0 && prepended < vocab_size(), "[tokenizer] no token {} to put in front",
           prepended);
  std::vector<int> ids = {prepended};
  ids.reserve(text.size() / 3 + 2);
  encode_append(text, ids);
  return ids;
}

std::vector<std::vector<int>> Tokenizer::encode_batch(std::span<const std::string> texts,
                                                      int prepended) const {
  if (state_->codec != nullptr) {
    auto encoded = state_->codec->encode(texts);
    if (prepended >= 0)
      for (std::vector<int>& ids : encoded) ids.insert(ids.begin(), prepended);
    return encoded;
  }
  std::vector<std::vector<int>> all(texts.size());
  parallel_for(texts.size(), 8, [&](std::size_t i) {
    all[i] = prepended < 0 ? encode(texts[i]) : encode(texts[i], prepended);
  });
  return all;
}

std::string Tokenizer::decode_bytes(std::span<const int> ids) const {
  bool is_text_start = false;
  std::string bytes;
  const auto append = [&](std::string_view piece) {
    if (is_text_start && piece.starts_with(' ')) piece.remove_prefix(1);
    bytes += piece;
    is_text_start = false;
  };
  std::vector<int> ordinary;  // since the last special, for the codec
  const auto decode_ordinary = [&] {
    if (!ordinary.empty()) append(state_->codec->decode(ordinary));
    ordinary.clear();
  };
  for (const int id : ids) {
    NB_CHECK(id >= 0 && id < vocab_size(), "[tokenizer] no token {} among 0 … {}", id,
             vocab_size() - 1);
    const auto i = static_cast<std::size_t>(id);
    if (state_->codec != nullptr && state_->special_names[i] == nullptr) {
      ordinary.push_back(id);
      continue;
    }
    decode_ordinary();
    append(state_->special_names[i] != nullptr ? *state_->special_names[i]
                                               : state_->vocabulary.tokens[i]);
    is_text_start = state_->puts_space_in_front && id == bos();
  }
  decode_ordinary();
  return bytes;
}

std::string Tokenizer::decode(std::span<const int> ids) const {
  return utf8_replace_invalid(decode_bytes(ids));
}

int Tokenizer::vocab_size() const { return state_->vocabulary.size(); }
int Tokenizer::bos() const { return state_->bos; }

int Tokenizer::special(std::string_view name) const {
  for (const SpecialToken& special : state_->vocabulary.specials)
    if (special.name == name) return special.id;
  return -1;
}

bool Tokenizer::is_special(int id) const {
  return id >= 0 && id < vocab_size() &&
         state_->special_names[static_cast<std::size_t>(id)] != nullptr;
}

bool Tokenizer::puts_space_in_front() const { return state_->puts_space_in_front; }

const std::vector<int>& Tokenizer::token_bytes() const { return state_->true_bytes; }
const std::vector<int>& Tokenizer::token_bytes(TokenBytesRule rule) const {
  return rule == TokenBytesRule::kTrueLength ? state_->true_bytes : state_->nanochat_bytes;
}
std::string Tokenizer::hash() const { return state_->hash; }
const Vocabulary& Tokenizer::vocabulary() const { return state_->vocabulary; }

}  // namespace nb
