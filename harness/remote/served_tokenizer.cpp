#include "harness/remote/served_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/base/hash.hpp"
#include "harness/remote/answers.hpp"
#include "harness/remote/find_model.hpp"
#include "harness/remote/probe_texts.hpp"
#include "model/engine/language_model.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

// Above the vocabulary of any tokenizer in use (Gemma 3: 262,144), where the server does not say.
constexpr int kMostTokens = 1 << 19;
// U+FDFA is 3 bytes, and 33 in normal form KC: no text has more tokens than bytes then.
constexpr std::size_t kMostTokensAByte = 11, kMostTokensMore = 16;
constexpr std::size_t kMostKeptBytes = std::size_t{64} << 20;
constexpr std::size_t kMostKeptTexts = 1 << 16;  // decoded
constexpr std::string_view kAnchor = "x";

// What begins a text, the first that is there, as Tokenizer has it.
constexpr std::string_view kBosNames[] = {"<|bos|>", "<|endoftext|>", "<|begin_of_text|>", "<s>"};
// What ends one in other families: Llama 2 and 3, Qwen, Phi 3, Gemma (their tokenizer_config.json).
constexpr std::string_view kEndNames[] = {
    "</s>", "<|end_of_text|>", "<|eot_id|>", "<|im_end|>", "<|end|>", "<eos>", "<end_of_turn>"};

Error lacks(const Connection& connection, const char* path, int status) {
  return {ErrorCode::kBadInput,
          fmt::format("--tokenizer server: {} does not take POST {} (status {}); give the "
                      "tokenizer.json of the served model by --tokenizer FILE",
                      connection.name(), path, status)};
}

std::string joined_texts() {
  std::string all;
  for (std::size_t i = 0; i < kSpecialText; ++i) all += std::string(kProbeTexts[i]) + "\n";
  return all;
}

// Specials that a server of ours tells: {"<|bos|>": 256, …}.
std::vector<SpecialToken> told_specials(const Json& info) {
  std::vector<SpecialToken> specials;
  if (!info.is_object() || !info.contains("special_tokens") || !info.contains("vocab_size"))
    return specials;
  const Json &told = info["special_tokens"], &size = info["vocab_size"];
  if (!told.is_object() || !size.is_number_integer() || size < 1 || size > kMostTokens)
    return specials;
  for (const auto& [name, id] : told.items())
    if (id.is_number_integer() && id >= 0 && id < size) specials.push_back({name, id.get<int>()});
  return specials;
}

}  // namespace

ServedTokenizer::ServedTokenizer(const HttpUrl& base, const ConnectionOptions& options)
    : connection_(base, options), wire_{base, ""} {}

Result<std::shared_ptr<const ServedTokenizer>> ServedTokenizer::open(
    const HttpUrl& base, const ConnectionOptions& options, const std::string& model) {
  std::shared_ptr<ServedTokenizer> opened(new ServedTokenizer(base, options));
  NB_TRY(const FoundModel found, find_model(opened->connection_, opened->wire_, model));
  opened->wire_.model = found.model.id;
  opened->facts_.vocab_size = kMostTokens;
  if (const auto told = found.model.vocab_size; told && *told > 0 && *told < kMostTokens)
    opened->facts_.vocab_size = *told;
  NB_TRY_VOID(opened->look_at_encoding());
  NB_TRY_VOID(opened->look_at_specials(found.model.owner));
  NB_TRY_VOID(opened->look_at_decoding());
  return std::shared_ptr<const ServedTokenizer>(std::move(opened));
}

// The answer to a question; null: the server has no such path.
Result<Json> ServedTokenizer::probed(RemoteCall call) const {
  call.is_question = true;
  NB_TRY(const RemoteAnswer answer, connection_.call(call));
  if (!answer.is_ok()) return Json();
  return connection_.json_of(call, answer);
}

Result<std::vector<int>> ServedTokenizer::ids_in(const RemoteCall& call, const Json& answer,
                                                 std::size_t text_bytes) const {
  const auto wrong = [&](const std::string& what) {
    return run_error(
        fmt::format("{} answers POST {} with {}", connection_.name(), call.path, what));
  };
  auto ids = parse_tokens(answer);
  if (!ids) return wrong(ids.error().message);
  if (ids->size() > text_bytes * kMostTokensAByte + kMostTokensMore)
    return wrong(fmt::format("{} tokens for a text of {} bytes", ids->size(), text_bytes));
  for (const int id : *ids)
    if (id >= facts_.vocab_size)
      return wrong(fmt::format("token {}, beyond a vocabulary of {}", id, facts_.vocab_size));
  return ids;
}

Result<std::vector<int>> ServedTokenizer::ask_ids(std::string_view text, bool marked,
                                                  bool reads_names) const {
  const RemoteCall call = wire_.tokenize(std::string(text), marked, reads_names);
  NB_TRY(const Json json, connection_.json_of(call, connection_.call(call)));
  return ids_in(call, json, text.size());
}

Result<std::string> ServedTokenizer::ask_text(std::span<const int> ids) const {
  const RemoteCall call = wire_.detokenize(ids);
  NB_TRY(const Json json, connection_.json_of(call, connection_.call(call)));
  auto text = parse_text(json);
  if (!text)
    return run_error(fmt::format("{} answers POST {} with {}", connection_.name(), call.path,
                                 text.error().message));
  return text;
}

const std::vector<int>& ServedTokenizer::probe_ids(std::size_t text) const {
  return ids_of_.at(sha256_hex(kProbeTexts[text]));
}

std::vector<int> ServedTokenizer::without_front(std::vector<int> ids) const {
  if (front_ >= 0 && !ids.empty() && ids.front() == front_) ids.erase(ids.begin());
  return ids;
}

Result<void> ServedTokenizer::look_at_encoding() {
  RemoteCall first = wire_.tokenize(std::string(kProbeTexts[0]), false, false);
  first.is_question = true;
  NB_TRY(const RemoteAnswer answer, connection_.call(first));
  if (!answer.is_ok() && answer.status != 401 && answer.status != 403)
    return tl::unexpected<Error>(lacks(connection_, "/tokenize", answer.status));
  std::vector<std::vector<int>> encoded;
  for (const std::string_view text : kProbeTexts) {
    NB_TRY(std::vector<int> ids, ask_ids(text, false, false));
    encoded.push_back(std::move(ids));
  }
  NB_TRY_VOID(look_at_front(encoded));
  for (std::size_t i = 0; i < encoded.size(); ++i)
    ids_of_[sha256_hex(kProbeTexts[i])] = without_front(std::move(encoded[i]));
  NB_TRY(canary_, ask_ids(joined_texts(), false, false));
  return look_at_bos(probe_ids(0));
}

// An empty text shows what the server puts before every one.
Result<void> ServedTokenizer::look_at_front(std::span<const std::vector<int>> encoded) {
  const auto begin_with = [&](int id) {
    return std::ranges::all_of(encoded,
                               [id](const auto& ids) { return !ids.empty() && ids.front() == id; });
  };
  NB_TRY(const Json empty, probed(wire_.tokenize("", false, false)));
  // Some refuse it.
  const auto ids = parse_tokens(empty);
  if (ids && ids->empty()) return {};
  if (ids && ids->size() == 1 && begin_with(ids->front())) {
    front_ = ids->front();
    return {};
  }
  if (!ids && !encoded[0].empty() && !begin_with(encoded[0].front())) return {};
  return run_error(
      fmt::format("--tokenizer server: {} puts tokens of its own around a text although "
                  "add_special_tokens is false, and does not show which; give the tokenizer.json "
                  "of the served model by --tokenizer FILE",
                  connection_.name()));
}

Result<void> ServedTokenizer::look_at_bos(const std::vector<int>& plain) {
  NB_TRY(const std::vector<int> marked, ask_ids(kProbeTexts[0], true, false));
  // Behind it may stand an end, which nothing here wants.
  if (marked.size() > plain.size() && std::equal(plain.begin(), plain.end(), marked.begin() + 1))
    facts_.bos = marked.front();
  return {};
}

Result<void> ServedTokenizer::look_at_specials(const std::string& owner) {
  std::vector<SpecialToken>& specials = facts_.specials;
  if (owner == "npubench") {
    NB_TRY(const Json info, probed(wire_.tokenizer_info()));
    if (auto told = told_specials(info); !told.empty()) {
      // It is of the first of its models.
      bool is_ours = true;
      for (const SpecialToken& special : told) {
        const RemoteCall call = wire_.detokenize(std::span(&special.id, 1));
        NB_TRY(const Json json, probed(call));
        is_ours = is_ours && parse_text(json).value_or("") == special.name;
      }
      if (is_ours) specials = std::move(told);
      if (is_ours) facts_.vocab_size = info["vocab_size"].get<int>();
    }
  }
  // A name that is one token is read as a special one; in a text the same name is several, or it
  // is this token there, too.
  std::vector<std::string> names(std::begin(kBosNames), std::end(kBosNames));
  names.insert(names.end(), nanochat_specials().begin(), nanochat_specials().end());
  names.insert(names.end(), std::begin(kEndNames), std::end(kEndNames));
  if (specials.empty()) {
    std::map<int, std::set<std::string>> names_of;
    for (const std::string& name : names) {
      NB_TRY(std::vector<int> ids, ask_ids(name, false, true));
      ids = without_front(std::move(ids));
      if (ids.size() == 1) names_of[ids.front()].insert(name);
    }
    // Several names of one token: the one for what is unknown.
    for (const auto& [id, its] : names_of)
      if (its.size() == 1) specials.push_back({*its.begin(), id});
  }
  const auto named = [&](int id) {
    return std::ranges::find(specials, id, &SpecialToken::id) != specials.end();
  };
  for (const std::string_view name : kBosNames)
    if (const auto it = std::ranges::find(specials, name, &SpecialToken::name);
        facts_.bos < 0 && it != specials.end())
      facts_.bos = it->id;
  if (facts_.bos >= facts_.vocab_size)
    return run_error(
        fmt::format("--tokenizer server: {} begins a text with token {}, beyond a "
                    "vocabulary of {}",
                    connection_.name(), facts_.bos, facts_.vocab_size));
  if (facts_.bos >= 0 && !named(facts_.bos)) specials.push_back({"<bos>", facts_.bos});
  std::ranges::sort(specials, {}, &SpecialToken::id);
  std::string all;
  for (std::size_t i = 0; i < kProbeTexts.size(); ++i)
    all += fmt::format("{}\n", fmt::join(probe_ids(i), " "));
  facts_.hash = "server:" + sha256_hex(fmt::format("{}bos {}", all, facts_.bos));
  if (std::ranges::any_of(probe_ids(kSpecialText), named))
    notes_.push_back(fmt::format("{} reads names of special tokens in a text as these tokens",
                                 connection_.name()));
  return {};
}

// Decoders put a space in front, or take one away: always behind the same token, it is seen.
Result<void> ServedTokenizer::look_at_decoding() {
  const std::string text(kAnchor);
  NB_TRY(anchor_, ask_ids(text, false, false));
  anchor_ = without_front(std::move(anchor_));
  RemoteCall call = wire_.detokenize(anchor_);
  call.is_question = true;
  NB_TRY(const RemoteAnswer answer, connection_.call(call));
  if (!answer.is_ok())
    return tl::unexpected<Error>(lacks(connection_, "/detokenize", answer.status));
  NB_TRY(anchor_text_, ask_text(anchor_));
  try {
    const auto decoded = [&](std::size_t i) { return decode(probe_ids(i)); };
    facts_.puts_space_in_front = decoded(0) == " " + std::string(kProbeTexts[0]);
    const std::string front = facts_.puts_space_in_front ? " " : "";
    for (std::size_t i = 0; i < kSpecialText; ++i)
      back_ += decoded(i) == front + std::string(kProbeTexts[i]) ? 1 : 0;
  } catch (const ModelFailure& failure) {
    return run_error(failure.what());
  }
  if (back_ < static_cast<int>(kSpecialText))
    notes_.push_back(fmt::format(
        "{} decodes {} of {} texts to others than were encoded: answers are marked as it decodes "
        "them",
        connection_.name(), static_cast<int>(kSpecialText) - back_, kSpecialText));
  return {};
}

std::vector<std::vector<int>> ServedTokenizer::encode(std::span<const std::string> texts) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> keys;
  std::vector<RemoteCall> calls;
  std::vector<std::size_t> places;  // of the texts that are asked for
  std::map<std::string_view, std::size_t> wanted;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    keys.push_back(sha256_hex(texts[i]));
    if (texts[i].empty() || ids_of_.contains(keys[i]) || !wanted.emplace(texts[i], i).second)
      continue;
    if (utf8_valid_prefix(texts[i]) != texts[i].size())
      throw ModelFailure(fmt::format(
          "--tokenizer server: a text that is no UTF-8 cannot be sent to {}", connection_.name()));
    calls.push_back(wire_.tokenize(texts[i], false, false));
    places.push_back(i);
  }
  if (kept_bytes_ > kMostKeptBytes) {
    kept_bytes_ = 0;
    // Those of this call stay.
    std::unordered_map<std::string, std::vector<int>> kept;
    for (const std::string& key : keys)
      if (auto node = ids_of_.extract(key)) kept.insert(std::move(node));
    ids_of_ = std::move(kept);
  }
  const auto answers = connection_.call_all(calls);
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const auto json = connection_.json_of(calls[c], answers[c]);
    if (!json) throw ModelFailure(json.error().message);
    auto ids = ids_in(calls[c], *json, texts[places[c]].size());
    if (!ids) throw ModelFailure(ids.error().message);
    std::vector<int>& kept = ids_of_[keys[places[c]]] = without_front(std::move(*ids));
    kept_bytes_ += keys[places[c]].size() + kept.size() * sizeof(int);
    ++asked_;
  }
  std::vector<std::vector<int>> all;
  for (std::size_t i = 0; i < texts.size(); ++i)
    all.push_back(texts[i].empty() ? std::vector<int>() : ids_of_.at(keys[i]));
  return all;
}

std::string ServedTokenizer::decode(std::span<const int> ids) const {
  const std::scoped_lock lock(mutex_);
  std::vector<int> all(anchor_);
  all.insert(all.end(), ids.begin(), ids.end());
  if (const auto known = text_of_.find(all); known != text_of_.end()) return known->second;
  auto text = ask_text(all);
  if (!text) throw ModelFailure(text.error().message);
  if (!text->starts_with(anchor_text_))
    throw ModelFailure(
        fmt::format("{} answers POST /detokenize with another text of the same first "
                    "tokens",
                    connection_.name()));
  std::string rest = text->substr(anchor_text_.size());
  if (text_of_.size() >= kMostKeptTexts) text_of_.clear();
  return text_of_[std::move(all)] = std::move(rest);
}

std::int64_t ServedTokenizer::texts_asked() const {
  const std::scoped_lock lock(mutex_);
  return asked_;
}

Result<void> ServedTokenizer::check_same() const {
  const std::scoped_lock lock(mutex_);
  NB_TRY(const std::vector<int> now, ask_ids(joined_texts(), false, false));
  if (now == canary_) return {};
  const auto [was, is] = std::ranges::mismatch(canary_, now);
  const auto id = [](auto at, auto end) {
    return at == end ? std::string("missing") : std::to_string(*at);
  };
  return run_error(fmt::format(
      "{} encodes a fixed text differently than when this evaluation began: token {} was {} and is "
      "{}; the items of this batch are not kept",
      connection_.name(), was - canary_.begin(), id(was, canary_.end()), id(is, now.end())));
}

}  // namespace nb
