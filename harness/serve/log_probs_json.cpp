#include "harness/serve/log_probs_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/serve/answer_text.hpp"
#include "model/engine/text_stream.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

Json number(std::optional<float> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return static_cast<double>(*value);
}

}  // namespace

Json LogProbWriter::of_completion(std::span<const ScoredToken> tokens, std::size_t offset) const {
  Json names = Json::array(), own = Json::array(), top = Json::array(), offsets = Json::array();
  TextStream stream(tokenizer_);
  for (const ScoredToken& token : tokens) {
    names.push_back(name(token.token));
    own.push_back(number(token.log_prob));
    top.push_back(token.log_prob ? dictionary(token) : Json());
    offsets.push_back(offset);
    if (!request_.skips_specials || !tokenizer_.is_special(token.token))
      offset += utf8_code_points(stream.push(token.token));
  }
  return {{"tokens", std::move(names)},
          {"token_logprobs", std::move(own)},
          {"top_logprobs", std::move(top)},
          {"text_offset", std::move(offsets)}};
}

Json LogProbWriter::of_chat(std::span<const ScoredToken> tokens) const {
  Json content = Json::array();
  for (const ScoredToken& token : tokens) {
    Json entry = entry_of({token.token, token.log_prob.value_or(0)});
    Json top = Json::array();
    for (const TokenLogProb& likely : likeliest(token)) top.push_back(entry_of(likely));
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}};
}

std::string LogProbWriter::name(int token) const {
  return request_.tokens_as_ids ? token_id_text(token) : token_text(token, tokenizer_);
}

std::span<const TokenLogProb> LogProbWriter::likeliest(const ScoredToken& token) const {
  return std::span(token.top).first(
      std::min(token.top.size(), static_cast<std::size_t>(*request_.logprobs)));
}

// The likeliest, and the token itself where it is none of them. Two of one text: the second by
// its id, so that none is lost.
Json LogProbWriter::dictionary(const ScoredToken& token) const {
  Json entries = Json::object();
  const auto put = [&](int id, float log_prob) {
    std::string key = name(id);
    if (entries.contains(key)) key = token_id_text(id);
    entries[key] = number(log_prob);
  };
  bool has_own = false;
  for (const auto& [id, log_prob] : likeliest(token)) {
    put(id, log_prob);
    has_own = has_own || id == token.token;
  }
  if (!has_own) put(token.token, *token.log_prob);
  return entries;
}

Json LogProbWriter::entry_of(const TokenLogProb& token) const {
  Json bytes = Json::array();
  if (token.token >= 0 && token.token < tokenizer_.vocab_size())
    for (const char byte : tokenizer_.decode_bytes(std::span(&token.token, 1)))
      bytes.push_back(static_cast<unsigned char>(byte));
  return {{"token", name(token.token)},
          {"logprob", number(token.log_prob)},
          {"bytes", std::move(bytes)}};
}

Json prompt_log_probs(std::size_t unscored, std::span<const ScoredToken> tokens, int k) {
  Json::array_t list(unscored);
  list.reserve(unscored + tokens.size());
  for (const ScoredToken& token : tokens) {
    if (!token.log_prob) {
      list.emplace_back(nullptr);
      continue;
    }
    Json entry = Json::object();
    int rank = 0;
    for (const auto& [id, log_prob] : token.top) {
      if (++rank > k) break;
      entry[std::to_string(id)] = {{"logprob", number(log_prob)}, {"rank", rank}};
    }
    if (const std::string own = std::to_string(token.token); !entry.contains(own))
      entry[own] = {{"logprob", number(token.log_prob)}};
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace nb
