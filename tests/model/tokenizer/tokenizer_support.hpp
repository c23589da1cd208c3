// Shared by the tokenizer's tests: a naive encoder (the definition, written again), random and
// adversarial texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/rng.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"

namespace nb::test {

// nanochat's tokenizer.py word for word, on byte strings, without tables.
inline std::vector<int> naive_encode(const Vocabulary& vocabulary, std::string_view text) {
  std::map<std::string, int> ranks;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (!vocabulary.tokens[id].empty()) ranks[vocabulary.tokens[id]] = static_cast<int>(id);
  std::vector<int> ids;
  for (const std::string_view piece : SplitPattern(vocabulary.rule).split(text)) {
    std::vector<std::string> parts;
    if (ranks.contains(std::string(piece))) {
      parts.emplace_back(piece);
    } else {
      for (const char c : piece) parts.emplace_back(1, c);
    }
    for (;;) {
      int best_rank = -1;
      std::size_t best = 0;
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks.find(parts[i] + parts[i + 1]);
        if (found == ranks.end() || (best_rank >= 0 && found->second >= best_rank)) continue;
        best_rank = found->second;
        best = i;
      }
      if (best_rank < 0) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    for (const std::string& part : parts) ids.push_back(ranks.at(part));
  }
  return ids;
}

// 256 bytes, the given tokens, nine specials.
inline Tokenizer with_tokens(const std::vector<std::string>& tokens) {
  return nb::byte_tokenizer(tokens);
}

// Draws of one test, in order.
class Dice {
 public:
  Dice(std::uint64_t seed, std::string_view purpose) : rng_(seed, purpose) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(rng_.below(next_++, n)); }

 private:
  Rng rng_;
  std::uint64_t next_ = 0;
};

// Fragments that meet every branch of the split patterns, some raw bytes among them if asked for.
inline std::string nasty_text(Dice& dice, std::size_t fragments, bool invalid_bytes) {
  static const std::vector<std::string> kFragments = {
      "the",          " of",     "ing",        "a",      "B",      "'s",      "'LL",
      "'\u017f",      " ",       "  ",         "\t",     "\n",     "\r\n",    "\r",
      "\v",           "\u0085",  "\u00a0",     "\u180e", "\u2003", "\u3000",  "1",
      "23",           "4567",    "\u0663",     "\u2167", "\u00e9", "e\u0301", "\u01c5",
      "\u4e2d\u6587", "\ud55c",  "\U0001F999", "!",      "...",    "/",       "_",
      "<|bos|>",      "aaaaaaa", "        ",   "ababab", "\u200b", "\ufeff",  std::string(1, '\0')};
  std::string text;
  for (std::size_t i = 0; i < fragments; ++i) {
    if (invalid_bytes && dice.below(4) == 0)
      text += static_cast<char>(static_cast<unsigned char>(dice.below(256)));
    else
      text += kFragments[dice.below(kFragments.size())];
  }
  return text;
}

}  // namespace nb::test
