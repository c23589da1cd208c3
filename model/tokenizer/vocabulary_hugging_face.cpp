#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/json_io.hpp"
#include "model/tokenizer/vocabulary_files.hpp"

namespace nb {
namespace {

// The split of a pre-tokenizer, as these files spell it: → the rule that matches the same.
struct SplitRow {
  std::string_view pattern;
  SplitRule rule;
};
constexpr SplitRow kSplits[] = {
    // Llama 3 and others that follow cl100k.
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
     SplitRule::kCl100k},
    // Qwen2 to Qwen3; with NFC.
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
     SplitRule::kQwen2},
    // nanochat's own HuggingFaceTokenizer (tokenizer.py @ 3a5e0bc).
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
     R"(|\s*[\r\n]|\s+(?!\S)|\s+)",
     SplitRule::kNanochat},
};

Json member(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) ? json.at(key) : Json();
}

// A ByteLevel that splits is GPT-2's; behind a Split it changes bytes to characters only.
std::optional<SplitRule> split_of(const Json& pre_tokenizer) {
  const Json type = member(pre_tokenizer, "type");
  if (type == "ByteLevel")
    return member(pre_tokenizer, "use_regex") == Json(false) ? std::nullopt
                                                             : std::optional(SplitRule::kGpt2);
  if (type == "Split") {
    const Json regex = member(member(pre_tokenizer, "pattern"), "Regex");
    for (const SplitRow& row : kSplits)
      if (regex == row.pattern) return row.rule;
    return std::nullopt;
  }
  if (type != "Sequence") return std::nullopt;
  const Json steps = member(pre_tokenizer, "pretokenizers");
  if (!steps.is_array() || steps.size() != 2 || member(steps[1], "type") != "ByteLevel")
    return std::nullopt;
  return split_of(steps[0]);
}

// "a b" or ["a", "b"] in each → the lines of a merges.txt.
std::optional<std::string> merge_lines(const Json& merges) {
  std::string lines;
  if (!merges.is_array()) return std::nullopt;
  for (const Json& merge : merges) {
    const bool is_pair =
        merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    if (!is_pair && !merge.is_string()) return std::nullopt;
    lines += is_pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                     : merge.get<std::string>();
    lines += '\n';
  }
  return lines;
}

}  // namespace

bool is_hugging_face_tokenizer(std::string_view text) {
  return text.find("\"added_tokens\"") != std::string_view::npos &&
         text.find("\"merges\"") != std::string_view::npos;
}

Result<Vocabulary> parse_hugging_face_tokenizer(std::string_view text, const std::string& where) {
  NB_TRY(const Json json, parse_json(text, where));
  const Json model = member(json, "model");
  if (member(model, "byte_fallback") == Json(true))
    return bad_input(where +
                     ": /model/byte_fallback: a vocabulary of SentencePiece (Llama 2); give "
                     "llama2.c's tokenizer.bin of it");
  if (member(model, "type") != "BPE")
    return bad_input(where + ": /model/type: npubench reads byte-level BPE only");
  const Json normalizer = member(json, "normalizer");
  const bool has_nfc = member(normalizer, "type") == "NFC";
  if (!normalizer.is_null() && !has_nfc)
    return bad_input(where + ": /normalizer: npubench knows NFC only, as Qwen2 has it");
  const auto rule = split_of(member(json, "pre_tokenizer"));
  if (!rule)
    return bad_input(where +
                     ": /pre_tokenizer: splits text in a way that npubench does not know; it knows "
                     "those of GPT-2, cl100k (Llama 3), Qwen2 and nanochat");
  if (has_nfc != (*rule == SplitRule::kQwen2))
    return bad_input(where + ": /normalizer: NFC belongs to Qwen2's split, and to no other");
  Json vocabulary = member(model, "vocab");
  const Json added = member(json, "added_tokens");
  const auto merges = merge_lines(member(model, "merges"));
  if (!vocabulary.is_object() || !merges || !added.is_array())
    return bad_input(where + ": /model: has no vocab and merges of byte-level BPE");
  for (const Json& token : added) {
    if (!member(token, "content").is_string() || !member(token, "id").is_number_unsigned())
      return bad_input(where + ": /added_tokens: a token without content and id");
    vocabulary[token.at("content").get<std::string>()] = token.at("id");
  }
  NB_TRY(Vocabulary parsed, parse_gpt2(vocabulary.dump(), where, *merges, where));
  parsed.rule = *rule;
  return parsed;
}

}  // namespace nb
