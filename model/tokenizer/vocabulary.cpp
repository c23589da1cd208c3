#include "model/tokenizer/vocabulary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "harness/base/hash.hpp"

namespace nb {
namespace {

constexpr std::size_t kLongestToken = 65'535;  // bytes; a training document has at most 40,000

// Lengths go before contents, so no two vocabularies feed the hash the same bytes.
void update(Sha256& hash, std::uint64_t value) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  hash.update(std::string_view(bytes.data(), bytes.size()));
}
void update(Sha256& hash, std::string_view text) {
  update(hash, static_cast<std::uint64_t>(text.size()));
  hash.update(text);
}

Result<void> check_byte_ids(const Vocabulary& vocabulary, const std::string& where) {
  if (vocabulary.rule != SplitRule::kSentencePiece) {
    if (vocabulary.byte_ids.empty()) return {};
    return bad_input(fmt::format("{}: byte ids belong to the rule \"sentencepiece\", not to \"{}\"",
                                 where, name(vocabulary.rule)));
  }
  if (vocabulary.byte_ids.size() != 256)
    return bad_input(fmt::format("{}: {} byte ids; the rule \"sentencepiece\" needs 256", where,
                                 vocabulary.byte_ids.size()));
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const int id = vocabulary.byte_ids[byte];
    const bool is_there = id >= 0 && id < vocabulary.size();
    const std::string bytes(1, static_cast<char>(static_cast<unsigned char>(byte)));
    if (!is_there || vocabulary.tokens[static_cast<std::size_t>(id)] != bytes)
      return bad_input(
          fmt::format("{}: byte id {} is not the token of byte 0x{:02x}", where, id, byte));
  }
  return {};
}

}  // namespace

const std::vector<std::string>& nanochat_specials() {
  static const std::vector<std::string> names = {
      "<|bos|>",           "<|user_start|>",   "<|user_end|>",   "<|assistant_start|>",
      "<|assistant_end|>", "<|python_start|>", "<|python_end|>", "<|output_start|>",
      "<|output_end|>"};
  return names;
}

void append_nanochat_specials(Vocabulary& vocabulary) {
  for (const std::string& special : nanochat_specials()) {
    vocabulary.specials.push_back({special, vocabulary.size()});
    vocabulary.tokens.emplace_back();
  }
}

std::vector<bool> byte_id_flags(const Vocabulary& vocabulary) {
  std::vector<bool> flags(vocabulary.tokens.size());
  for (const int id : vocabulary.byte_ids) flags[static_cast<std::size_t>(id)] = true;
  return flags;
}

Result<void> check_vocabulary(const Vocabulary& vocabulary, const std::string& where) {
  const std::vector<std::string>& tokens = vocabulary.tokens;
  NB_TRY_VOID(check_byte_ids(vocabulary, where));
  const std::vector<bool> is_byte_id = byte_id_flags(vocabulary);
  std::vector<std::size_t> order;
  for (std::size_t id = 0; id < tokens.size(); ++id)
    if (!is_byte_id[id]) order.push_back(id);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tokens[a] != tokens[b] ? tokens[a] < tokens[b] : a < b;
  });
  std::array<bool, 256> has_byte{};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string& token = tokens[order[i]];
    if (token.empty()) continue;
    if (token.size() > kLongestToken)
      return bad_input(fmt::format("{}: token {} has {} bytes; the maximum is {}", where, order[i],
                                   token.size(), kLongestToken));
    if (token.size() == 1) has_byte[static_cast<unsigned char>(token[0])] = true;
    if (i > 0 && token == tokens[order[i - 1]])
      return bad_input(fmt::format(
          "{}: tokens {} and {} have the same bytes; every byte string may appear only once", where,
          order[i - 1], order[i]));
  }
  const auto missing = std::find(has_byte.begin(), has_byte.end(), false);
  if (missing != has_byte.end() && vocabulary.byte_ids.empty())
    return bad_input(
        fmt::format("{}: no token for byte 0x{:02x}; a byte-level vocabulary needs all 256", where,
                    missing - has_byte.begin()));

  std::vector<std::string> names;
  std::vector<int> ids;
  for (const SpecialToken& special : vocabulary.specials) {
    if (special.name.empty())
      return bad_input(fmt::format("{}: a special token has no name", where));
    if (special.id < 0 || special.id >= vocabulary.size() ||
        !tokens[static_cast<std::size_t>(special.id)].empty())
      return bad_input(fmt::format("{}: special token {} has id {}, which is not free", where,
                                   special.name, special.id));
    if (std::find(names.begin(), names.end(), special.name) != names.end() ||
        std::find(ids.begin(), ids.end(), special.id) != ids.end())
      return bad_input(fmt::format("{}: special token {} or its id {} appears twice", where,
                                   special.name, special.id));
    names.push_back(special.name);
    ids.push_back(special.id);
  }
  return {};
}

std::string vocabulary_hash(const Vocabulary& vocabulary) {
  Sha256 hash;
  update(hash, std::string_view("npubench vocabulary 1"));
  update(hash, name(vocabulary.rule));
  update(hash, static_cast<std::uint64_t>(vocabulary.tokens.size()));
  for (const std::string& token : vocabulary.tokens) update(hash, std::string_view(token));
  for (const int id : vocabulary.byte_ids) update(hash, static_cast<std::uint64_t>(id));
  std::vector<SpecialToken> specials = vocabulary.specials;
  std::sort(specials.begin(), specials.end(),
            [](const SpecialToken& a, const SpecialToken& b) { return a.id < b.id; });
  for (const SpecialToken& special : specials) {
    update(hash, static_cast<std::uint64_t>(special.id));
    update(hash, std::string_view(special.name));
  }
  return hash.hex();
}

}  // namespace nb
