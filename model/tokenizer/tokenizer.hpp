// Byte-level BPE with tiktoken's semantics (nanochat's tokenizer.py): a piece that is a token is
// that token; else single bytes, and again and again the adjacent pair whose concatenated bytes
// have the lowest id in the vocabulary is merged, leftmost first. Text that looks like a special
// token is ordinary text.
//
// Thread-safe: all const members may be called at once. Move-only; everyone else holds a reference.
// Not for training (train_tokenizer.hpp) nor for rendering conversations.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/tokenizer/text_codec.hpp"
#include "model/tokenizer/vocabulary.hpp"

namespace nb {

// What a target token counts for in bits per byte (nanochat's tok_train.py).
enum class TokenBytesRule {
  kTrueLength,  // bytes the token stands for (nanochat since 2ce972a)
  kNanochat,    // bytes of its text with U+FFFD for what is not UTF-8 alone: the published table's
                // rule
};

class Tokenizer {
 public:
  // NB_CHECK: check_vocabulary() holds (loaders have made sure).
  explicit Tokenizer(Vocabulary vocabulary);
  // One that is somewhere else. vocabulary() has its specials and no bytes: token_bytes() are 0, it
  // cannot be saved. encode() and decode() throw what the codec throws. NB_CHECK: specials are
  // among the ids.
  Tokenizer(std::shared_ptr<const TextCodec> codec, CodecFacts facts);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Our JSON, a tiktoken rank file (nanochat's mergeable ranks: nine specials are appended; the
  // public r50k, p50k, cl100k, o200k files are known by their hash and get their own rule and
  // specials), GPT-2's encoder.json / vocab.bpe (either, or their folder), or llama2.c's
  // tokenizer.bin. The content decides, not the name.
  static Result<Tokenizer> load(const std::filesystem::path& path);
  Result<void> save(const std::filesystem::path& path) const;  // our JSON
  // tiktoken's form: base64 of the bytes, space, id; one line each. Specials have no place there.

  // The same with these special tokens behind its ids, but for those that it has. One that is
  // somewhere else keeps its hash: they change nothing there.
  Tokenizer with_specials(std::span<const std::string> names) const;

  std::vector<int> encode(std::string_view text) const;
  std::vector<int> encode(std::string_view text, int prepended) const;  // e.g. encode(text, bos())
  void encode_append(std::string_view text, std::vector<int>& ids) const;
  // In parallel; results in the order of the texts. prepended < 0: nothing.
  std::vector<std::vector<int>> encode_batch(std::span<const std::string> texts,
                                             int prepended = -1) const;

  // Concatenated bytes; specials give their names. encode's exact inverse, for any input bytes
  // (Qwen2: of their normal form C).
  // SentencePiece: encode puts a space in front, which goes again right after <s> only (as
  // llama2.c's run.c does), so that texts can be decoded in parts.
  std::string decode_bytes(std::span<const int> ids) const;
  // The same as text: what is not UTF-8 becomes U+FFFD, so the result is always valid.
  std::string decode(std::span<const int> ids) const;

  int vocab_size() const;  // largest id + 1
  int bos() const;         // <|bos|>, else <|endoftext|> or Llama's; -1 if there is none
  int special(std::string_view name) const;  // -1 if none
  bool is_special(int id) const;
  bool puts_space_in_front() const;  // of every text: SentencePiece
  // Bytes of every id, 0 for specials; size vocab_size().
  const std::vector<int>& token_bytes() const;  // kTrueLength
  const std::vector<int>& token_bytes(TokenBytesRule rule) const;
  std::string hash() const;  // of the content: vocabulary_hash()
  const Vocabulary& vocabulary() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nb
