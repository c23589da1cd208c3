#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/base64.hpp"
#include "harness/base/fields.hpp"
#include "harness/base/json_io.hpp"
#include "model/tokenizer/vocabulary_files.hpp"

namespace nb {
namespace {

constexpr std::string_view kFormat = "npubench tokenizer";
constexpr int kVersion = 1;

struct Head {
  std::string format;
  std::int64_t version = 0;
  std::string rule;
  std::string sha256;
  std::vector<std::int64_t> byte_ids;
  FieldList fields() {
    return {{"format",
             "what the file is",
             &format,
             {.one_of = {std::string(kFormat)}, .required = true}},
            {"version", "of the format", &version, {.required = true}},
            {"rule", "split rule", &rule, {.required = true}},
            {"sha256", "of the content", &sha256, {.required = true}},
            {"byte_ids", "ids of the 256 byte tokens (rule sentencepiece)", &byte_ids}};
  }
};

Result<void> parse_tokens(const Json& list, const std::string& where, Vocabulary& vocabulary) {
  if (!list.is_array()) return bad_input(where + ": /tokens: not a list of base64 strings");
  vocabulary.tokens.reserve(list.size());
  for (const Json& entry : list) {
    const std::size_t id = vocabulary.tokens.size();
    if (entry.is_null()) {
      vocabulary.tokens.emplace_back();
      continue;
    }
    if (!entry.is_string())
      return bad_input(fmt::format("{}: /tokens/{}: neither a base64 string nor null", where, id));
    std::optional<std::string> bytes = base64_decode(entry.get_ref<const std::string&>());
    if (!bytes || bytes->empty())
      return bad_input(
          fmt::format("{}: /tokens/{}: not the base64 of one byte or more", where, id));
    vocabulary.tokens.push_back(std::move(*bytes));
  }
  return {};
}

Result<void> parse_specials(const Json& map, const std::string& where, Vocabulary& vocabulary) {
  if (!map.is_object()) return bad_input(where + ": /specials: not an object of name and id");
  for (const auto& [special, id] : map.items()) {
    if (!id.is_number_integer() || id < 0 || id >= vocabulary.size())
      return bad_input(fmt::format("{}: /specials/{}: not an id from 0 to {}", where, special,
                                   vocabulary.size() - 1));
    vocabulary.specials.push_back({special, id.get<int>()});
  }
  std::sort(vocabulary.specials.begin(), vocabulary.specials.end(),
            [](const SpecialToken& a, const SpecialToken& b) { return a.id < b.id; });
  return {};
}

}  // namespace

Result<Vocabulary> parse_vocabulary_json(std::string_view text, const std::string& where) {
  NB_TRY(Json json, parse_json(text, where));
  if (!json.is_object() || !json.contains("tokens") || !json.contains("specials"))
    return bad_input(where + ": /: a tokenizer has \"tokens\" and \"specials\"; save it again");
  const Json tokens = std::move(json["tokens"]);
  const Json specials = std::move(json["specials"]);
  json.erase("tokens");
  json.erase("specials");
  NB_TRY(const Head head, parse_struct<Head>(json, where));
  if (head.version != kVersion)
    return bad_input(fmt::format("{}: /version: {} is unknown, this program reads {}", where,
                                 head.version, kVersion));
  Vocabulary vocabulary;
  NB_TRY(vocabulary.rule, parse_split_rule(head.rule), where + ": /rule");
  NB_TRY_VOID(parse_tokens(tokens, where, vocabulary));
  NB_TRY_VOID(parse_specials(specials, where, vocabulary));
  for (const std::int64_t id : head.byte_ids) {
    const bool is_there = id >= 0 && id < vocabulary.size();
    vocabulary.byte_ids.push_back(is_there ? static_cast<int>(id) : -1);
  }
  NB_TRY_VOID(check_vocabulary(vocabulary, where));
  const std::string hash = vocabulary_hash(vocabulary);
  if (hash != head.sha256)
    return bad_input(
        fmt::format("{}: /sha256: the file says {}, its content has {}; it was altered, "
                    "train or copy it again",
                    where, head.sha256, hash));
  return vocabulary;
}

Result<std::string> print_vocabulary_json(const Vocabulary& vocabulary) {
  Json tokens = Json::array();
  for (const std::string& token : vocabulary.tokens)
    tokens.push_back(token.empty() ? Json(nullptr) : Json(base64_encode(token)));
  Json specials = Json::object();
  for (const SpecialToken& special : vocabulary.specials) specials[special.name] = special.id;
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"rule", name(vocabulary.rule)},
               {"sha256", vocabulary_hash(vocabulary)},
               {"specials", std::move(specials)},
               {"tokens", std::move(tokens)}};
  if (!vocabulary.byte_ids.empty()) json["byte_ids"] = vocabulary.byte_ids;
  NB_TRY(std::string text, dump_json(json, 0));
  return text + "\n";
}

}  // namespace nb
