#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/json_io.hpp"
#include "model/tokenizer/utf8.hpp"
#include "model/tokenizer/vocabulary_files.hpp"

namespace nb {
namespace {

// GPT-2's encoder.py, bytes_to_unicode: printable Latin-1 stands for itself, the other bytes for
// U+0100, U+0101, … in their order.
const std::map<std::string, char, std::less<>>& byte_of_character() {
  static const auto table = [] {
    std::map<std::string, char, std::less<>> characters;
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      const unsigned point = printable ? byte : next++;
      std::string text;
      if (point < 0x80) {
        text = {static_cast<char>(point)};
      } else {
        text = {static_cast<char>(static_cast<unsigned char>(0xC0U | point >> 6U)),
                static_cast<char>(static_cast<unsigned char>(0x80U | (point & 0x3FU)))};
      }
      characters[text] = static_cast<char>(static_cast<unsigned char>(byte));
    }
    return characters;
  }();
  return table;
}

std::optional<std::string> to_bytes(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) return std::nullopt;
    const auto found = byte_of_character().find(text.substr(0, length));
    if (found == byte_of_character().end()) return std::nullopt;
    bytes += found->second;
    text.remove_prefix(length);
  }
  return bytes;
}

// Texts of encoder.json by id.
Result<std::vector<std::string>> parse_encoder(std::string_view text, const std::string& where) {
  NB_TRY(const Json json, parse_json(text, where));
  if (!json.is_object() || json.empty())
    return bad_input(where + ": /: expected GPT-2's object of token text and id");
  std::vector<std::string> texts(json.size());
  std::vector<bool> seen(json.size());
  for (const auto& [token, id] : json.items()) {
    if (!id.is_number_integer() || id < 0 || id >= json.size())
      return bad_input(fmt::format("{}: /{}: not an id from 0 to {}; ids have no gaps", where,
                                   token, json.size() - 1));
    const auto i = id.get<std::size_t>();
    if (seen[i])
      return bad_input(
          fmt::format("{}: /{}: id {} belongs to \"{}\" already", where, token, i, texts[i]));
    seen[i] = true;
    texts[i] = token;
  }
  return texts;
}

// The texts that merges make, in their order, with the line of each.
Result<std::vector<std::string>> parse_merges(std::string_view text, const std::string& where) {
  std::vector<std::string> merged;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos)
      return bad_input(fmt::format(
          "{}:{}: expected two token texts with a space between; is the file truncated?", where,
          number));
    merged.emplace_back(line.substr(0, space)).append(line.substr(space + 1));
  }
  return merged;
}

}  // namespace

Result<Vocabulary> parse_gpt2(std::string_view encoder_json, const std::string& encoder_where,
                              std::string_view vocab_bpe, const std::string& bpe_where) {
  NB_TRY(const std::vector<std::string> texts, parse_encoder(encoder_json, encoder_where));
  NB_TRY(const std::vector<std::string> merged, parse_merges(vocab_bpe, bpe_where));
  std::map<std::string_view, std::size_t> id_of;
  for (std::size_t id = 0; id < texts.size(); ++id) id_of[texts[id]] = id;

  Vocabulary vocabulary;
  vocabulary.rule = SplitRule::kGpt2;
  vocabulary.tokens.resize(texts.size());
  for (const auto& [text, byte] : byte_of_character()) {
    const auto found = id_of.find(text);
    if (found == id_of.end())
      return bad_input(
          fmt::format("{}: /: no token \"{}\" for byte 0x{:02x}; is the file truncated?",
                      encoder_where, text, static_cast<unsigned char>(byte)));
    vocabulary.tokens[found->second] = std::string(1, byte);
  }
  std::size_t previous = 0;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const auto found = id_of.find(merged[i]);
    const std::optional<std::string> bytes = to_bytes(merged[i]);
    if (found == id_of.end() || !bytes)
      return bad_input(fmt::format("{}: merge {} produces \"{}\", which {} does not have",
                                   bpe_where, i + 1, merged[i], encoder_where));
    if (!vocabulary.tokens[found->second].empty() || (i > 0 && found->second < previous))
      return bad_input(
          fmt::format("{}: merge {} produces \"{}\" with id {}; ids must increase with the merges, "
                      "each merge appearing once",
                      bpe_where, i + 1, merged[i], found->second));
    previous = found->second;
    vocabulary.tokens[found->second] = *bytes;
  }
  for (std::size_t id = 0; id < texts.size(); ++id) {
    if (!vocabulary.tokens[id].empty()) continue;
    if (!texts[id].starts_with("<|"))
      return bad_input(
          fmt::format("{}: /{}: id {} is neither a byte nor the result of a merge in {}; is that "
                      "file cut short?",
                      encoder_where, texts[id], id, bpe_where));
    vocabulary.specials.push_back({texts[id], static_cast<int>(id)});
  }
  NB_TRY_VOID(check_vocabulary(vocabulary, encoder_where));
  return vocabulary;
}

}  // namespace nb
