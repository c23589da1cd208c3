// Cuts text into the pieces that BPE works on: nanochat's, GPT-2's, cl100k's, o200k's and Qwen2's
// split patterns through PCRE2 (UTF, UCP, JIT). Knows nothing of vocabularies.
//
// `\s` is Unicode White_Space as in Rust's regex (PCRE2's own \s adds U+180E), end of text is the
// end of a valid run. Invalid UTF-8: every maximal run of bytes that are not part of well-formed
// UTF-8 is one piece of its own and ends the valid run before it, so pieces always concatenate to
// the input. Thread-safe: a SplitPattern is immutable; what a match writes to lives in
// SplitScratch, one per thread.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

// kSentencePiece: no cuts, the whole text is one piece (vocabulary.hpp: byte_ids).
// kQwen2: digits one by one; text is normalised (nfc.hpp) before it is split.
enum class SplitRule { kNanochat, kGpt2, kCl100k, kO200k, kSentencePiece, kQwen2 };
// "nanochat", "gpt2", "cl100k", "o200k", "sentencepiece", "qwen2"
std::string_view name(SplitRule rule);
Result<SplitRule> parse_split_rule(std::string_view text);

class SplitScratch {
 public:
  SplitScratch();
  ~SplitScratch();
  SplitScratch(SplitScratch&&) noexcept;
  SplitScratch& operator=(SplitScratch&&) noexcept;

 private:
  friend class SplitPattern;
  struct State;
  std::unique_ptr<State> state_;
};

class SplitPattern {
 public:
  explicit SplitPattern(SplitRule rule);
  ~SplitPattern();
  SplitPattern(SplitPattern&&) noexcept;
  SplitPattern& operator=(SplitPattern&&) noexcept;

  SplitRule rule() const { return rule_; }
  // Replaces `pieces` by views into `text`, in order, none empty.
  void split(std::string_view text, SplitScratch& scratch,
             std::vector<std::string_view>& pieces) const;
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  void split_valid(std::string_view text, SplitScratch& scratch,
                   std::vector<std::string_view>& pieces) const;
  SplitRule rule_;
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace nb
