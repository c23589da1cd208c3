#include "harness/remote/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/tokenizer/tokenizer.hpp"

namespace nb {
namespace {

constexpr float kFloor = -9999;  // vLLM's serving.py writes minus infinity so
constexpr std::size_t kMostModels = 1000;
constexpr std::size_t kMostTold = 64, kLongestTold = 120;
constexpr std::string_view kIdPrefix = "token_id:";  // vLLM, return_tokens_as_token_ids

const Json kNull;

// A member of an object; null where there is none or `json` is no object.
const Json& at(const Json& json, const char* key) {
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}
std::string text_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}
std::optional<std::int64_t> whole_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  if (!value.is_number_integer() && !value.is_number_unsigned()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return std::nullopt;
  return value.get<std::int64_t>();
}

std::optional<int> id_of(std::string_view digits) {
  int id = -1;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, id);
  if (error != std::errc() || stop != end || id < 0) return std::nullopt;
  return id;
}
std::optional<int> id_of(const Json& value) {
  if (!value.is_number_integer() && !value.is_number_unsigned()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > 0x7fffffffU) return std::nullopt;
  const auto id = value.get<std::int64_t>();
  if (id < 0 || id > 0x7fffffff) return std::nullopt;
  return static_cast<int>(id);
}

// NaN where it is no number.
float number(const Json& value) {
  return value.is_number() ? static_cast<float>(value.get<double>())
                           : std::numeric_limits<float>::quiet_NaN();
}

// Of all entries, or of a member of each; none where one is no number.
std::vector<float> all_numbers(const Json& list, const char* member = nullptr) {
  std::vector<float> numbers;
  if (!list.is_array()) return numbers;
  for (const Json& entry : list) {
    const float value = number(member == nullptr ? entry : at(entry, member));
    if (std::isnan(value)) return {};
    numbers.push_back(value);
  }
  return numbers;
}

void set(TokenScore& score, const Json& log_prob) {
  score.log_prob = number(log_prob);
  if (score.log_prob > kFloor) return;
  score.is_floor = !std::isnan(score.log_prob);
  score.log_prob = std::numeric_limits<float>::quiet_NaN();
}

// The choice of index 0; a choice without an index is where it stands.
Result<const Json*> first_choice(const Json& answer) {
  const Json& choices = at(answer, "choices");
  if (!choices.is_array() || choices.empty()) return run_error("no \"choices\"");
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto index = whole_at(choices[i], "index");
    if (index.value_or(static_cast<std::int64_t>(i)) == 0) return &choices[i];
  }
  return run_error("no choice of index 0");
}

Error entries(std::size_t found, std::size_t wanted) {
  return {ErrorCode::kRun, fmt::format("{} entr{} of prompt log-probabilities for {} tokens", found,
                                       found == 1 ? "y" : "ies", wanted)};
}
Error other_token(std::size_t position, const std::string& theirs, int sent) {
  return {ErrorCode::kRun, fmt::format("token {} at position {} of the prompt, where {} was sent",
                                       theirs, position, sent)};
}

// {"42": {"logprob": -1.5, "rank": 3}, …}: the token itself, and the likeliest.
Result<TokenScore> from_dictionary(const Json& entry, int token, std::size_t position) {
  if (!entry.is_object())
    return run_error(fmt::format("nothing at position {} of the prompt", position));
  TokenScore score;
  bool has_own = false;
  score.top_log_prob = -std::numeric_limits<float>::infinity();
  std::string other;
  for (const auto& [key, value] : entry.items()) {
    const auto id = id_of(std::string_view(key));
    if (!id) return run_error(fmt::format("a token that is no id at position {}", position));
    const Json& log_prob = value.is_object() ? at(value, "logprob") : value;
    if (*id == token) {
      set(score, log_prob);
      has_own = true;
    } else {
      other = key;
    }
    const float its = number(log_prob);
    if (its > score.top_log_prob || (its == score.top_log_prob && *id < score.top)) {
      score.top_log_prob = its;
      score.top = *id;
    }
  }
  if (!has_own)
    return tl::unexpected<Error>(other_token(position, other.empty() ? "none" : other, token));
  return score;
}

Result<std::vector<TokenScore>> by_ids(const Json& answer, std::span<const int> tokens,
                                       std::size_t first) {
  NB_TRY(const Json* choice, first_choice(answer));
  // vLLM's chat puts it beside the choices.
  const Json& list = at(*choice, "prompt_logprobs").is_array() ? at(*choice, "prompt_logprobs")
                                                               : at(answer, "prompt_logprobs");
  if (!list.is_array()) return run_error("no \"prompt_logprobs\"");
  if (list.size() != tokens.size())
    return tl::unexpected<Error>(entries(list.size(), tokens.size()));
  std::vector<TokenScore> scores;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (i < first && list[i].is_null()) {
      scores.emplace_back();
      continue;
    }
    NB_TRY(const TokenScore score, from_dictionary(list[i], tokens[i], i));
    scores.push_back(score);
  }
  return scores;
}

// The id that a server's text of a token means; -1: none, or several could be meant.
int id_of_text(std::string_view text, const Tokenizer& tokenizer) {
  if (text.starts_with(kIdPrefix)) return id_of(text.substr(kIdPrefix.size())).value_or(-1);
  if (const int special = tokenizer.special(text); special >= 0) return special;
  const std::vector<int> ids = tokenizer.encode(text);
  return ids.size() == 1 ? ids.front() : -1;
}

bool is_text_of(std::string_view text, int token, const Tokenizer& tokenizer) {
  if (text.starts_with(kIdPrefix)) return id_of(text.substr(kIdPrefix.size())) == token;
  if (text.starts_with("bytes:")) return true;  // OpenAI's escape of what is no text
  return text == tokenizer.decode(std::span(&token, 1)) || tokenizer.special(text) == token;
}

Result<std::vector<TokenScore>> by_texts(const Json& answer, std::span<const int> tokens,
                                         const Tokenizer& tokenizer) {
  NB_TRY(const Json* choice, first_choice(answer));
  const Json& part = at(*choice, "logprobs");
  const Json& texts = at(part, "tokens");
  const Json& own = at(part, "token_logprobs");
  const Json& top = at(part, "top_logprobs");
  // llama.cpp's form, of new tokens only: it does not echo (tools/server @ 050ee92d).
  if (at(part, "content").is_array())
    return tl::unexpected<Error>(entries(at(part, "content").size(), tokens.size()));
  if (!texts.is_array() || !own.is_array() || !top.is_array())
    return run_error("no log-probabilities of the prompt");
  // Behind the prompt stands what was generated.
  if (texts.size() < tokens.size() || own.size() < tokens.size() || top.size() < tokens.size())
    return tl::unexpected<Error>(
        entries(std::min({texts.size(), own.size(), top.size()}), tokens.size()));
  std::vector<TokenScore> scores;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!texts[i].is_string() ||
        !is_text_of(texts[i].get_ref<const std::string&>(), tokens[i], tokenizer))
      return tl::unexpected<Error>(other_token(
          i, texts[i].is_string() ? "\"" + texts[i].get<std::string>() + "\"" : "none", tokens[i]));
    if (i == 0) continue;
    TokenScore score;
    set(score, own[i]);
    score.top = tokens[i];
    score.top_log_prob = score.log_prob;
    if (top[i].is_object())
      for (const auto& [text, value] : top[i].items())
        if (const float its = number(value);
            its > score.top_log_prob || std::isnan(score.top_log_prob)) {
          score.top_log_prob = its;
          score.top = id_of_text(text, tokenizer);
        }
    scores.push_back(score);
  }
  return scores;
}

// [[-1.5, 42, null], …] in input_token_logprobs, the likeliest in input_top_logprobs.
Result<std::vector<TokenScore>> from_sglang(const Json& answer, std::span<const int> tokens,
                                            std::size_t first) {
  const Json& info = at(answer, "meta_info");
  const Json& own = at(info, "input_token_logprobs");
  const Json& top = at(info, "input_top_logprobs");
  if (!own.is_array()) return run_error("no \"input_token_logprobs\"");
  // Entry 0 of the span is null: nothing stands before it.
  const std::size_t begin = first - 1;
  if (own.size() != tokens.size() - begin)
    return tl::unexpected<Error>(entries(own.size(), tokens.size() - begin));
  std::vector<TokenScore> scores(begin);
  for (std::size_t i = begin + 1; i < tokens.size(); ++i) {
    const Json& entry = own[i - begin];
    if (!entry.is_array() || entry.size() < 2)
      return run_error(fmt::format("nothing at position {} of the prompt", i));
    const auto id = id_of(entry[1]);
    if (id != tokens[i])
      return tl::unexpected<Error>(other_token(i, id ? std::to_string(*id) : "none", tokens[i]));
    TokenScore score;
    set(score, entry[0]);
    score.top = tokens[i];
    score.top_log_prob = score.log_prob;
    if (top.is_array() && i - begin < top.size() && top[i - begin].is_array())
      for (const Json& one : top[i - begin]) {
        if (!one.is_array() || one.size() < 2) continue;
        if (const float its = number(one[0]);
            its > score.top_log_prob || std::isnan(score.top_log_prob)) {
          score.top_log_prob = its;
          score.top = id_of(one[1]).value_or(-1);
        } else if (its == score.top_log_prob) {
          score.top = std::min(score.top, id_of(one[1]).value_or(score.top));
        }
      }
    scores.push_back(score);
  }
  return scores;
}

// Python's words for numbers that JSON has not, outside of strings, as null.
std::string without_python_numbers(std::string_view body) {
  std::string out;
  out.reserve(body.size());
  bool in_string = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < body.size()) out += body[++i];
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    bool is_word = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
      if (!is_word && body.substr(i).starts_with(word)) {
        out += "null";
        i += word.size() - 1;
        is_word = true;
      }
    if (!is_word) out += c;
  }
  return out;
}

}  // namespace

std::string_view name(Dialect dialect) {
  switch (dialect) {
    case Dialect::kPromptLogprobs:
      return "prompt_logprobs";
    case Dialect::kEcho:
      return "echo";
    case Dialect::kSglang:
      return "sglang";
  }
  return "";
}

Result<Json> parse_answer(std::string_view body) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return run_error("nothing");
  if (body[first] == '<')
    return run_error("a page of HTML, not JSON; does the URL end in /v1, and is no proxy between?");
  if (auto json = parse_json(body, "answer")) return json;
  if (auto json = parse_json(without_python_numbers(body), "answer")) return json;
  return run_error(body[first] == '{' || body[first] == '[' ? "broken JSON"
                                                            : "a text that is not JSON");
}

std::string message_of(std::string_view body) {
  const auto json = parse_answer(body);
  if (!json) return "";
  std::string text;
  for (const Json* part :
       {&at(*json, "error"), &at(*json, "detail"), &at(*json, "message"), &*json}) {
    if (text.empty() && part->is_string()) text = part->get<std::string>();
    if (text.empty()) text = text_at(*part, "message");
  }
  // FastAPI's list of what is wrong with the fields.
  if (const Json& detail = at(*json, "detail");
      text.empty() && detail.is_array() && !detail.empty())
    text = text_at(detail.front(), "msg");
  return text.substr(0, text.find_first_of("[{\n\"'"));
}

Result<std::vector<ServedModel>> parse_models(const Json& answer) {
  const Json& list = at(answer, "data");
  if (!list.is_array()) return run_error("no list of models");
  if (list.size() > kMostModels) return run_error(fmt::format("a list of {} models", list.size()));
  std::vector<ServedModel> models;
  for (const Json& entry : list) {
    ServedModel model{text_at(entry, "id"), text_at(entry, "owned_by"), std::nullopt};
    // npubench's own members.
    model.told = parse_told(at(entry, "numerics"));
    if (const std::string device = text_at(entry, "device"); !device.empty())
      model.told["device"] = device.substr(0, kLongestTold);
    if (model.id.empty()) return run_error("a model without an id");
    model.max_model_len = whole_at(entry, "max_model_len");
    // llama.cpp says it among what it knows of the file.
    if (!model.max_model_len) model.max_model_len = whole_at(at(entry, "meta"), "n_ctx");
    if (!model.max_model_len) model.max_model_len = whole_at(at(entry, "meta"), "n_ctx_train");
    model.vocab_size = id_of(at(at(entry, "meta"), "n_vocab"));
    models.push_back(std::move(model));
  }
  return models;
}

Result<std::vector<int>> parse_tokens(const Json& answer) {
  const Json& list = at(answer, "tokens");
  if (!list.is_array()) return run_error("no \"tokens\"");
  std::vector<int> tokens;
  for (const Json& entry : list) {
    const auto id = id_of(entry.is_object() ? at(entry, "id") : entry);
    if (!id) return run_error("a token that is no id");
    tokens.push_back(*id);
  }
  return tokens;
}

Result<std::string> parse_text(const Json& answer) {
  for (const char* member : {"prompt", "content", "text"})
    if (const Json& text = at(answer, member); text.is_string()) return text.get<std::string>();
  return run_error("no text of tokens");
}

std::map<std::string, std::string> parse_told(const Json& object,
                                              std::span<const std::string_view> names) {
  std::map<std::string, std::string> told;
  if (!object.is_object()) return told;
  for (const auto& [name, value] : object.items()) {
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    if (told.size() == kMostTold) break;
    if (value.is_string())
      told[name.substr(0, kLongestTold)] = value.get<std::string>().substr(0, kLongestTold);
    else if (value.is_number() || value.is_boolean())
      told[name.substr(0, kLongestTold)] = value.dump();
  }
  return told;
}

Result<std::vector<TokenScore>> parse_scores(Dialect dialect, const Json& answer,
                                             std::span<const int> tokens,
                                             const Tokenizer& tokenizer, std::size_t first) {
  switch (dialect) {
    case Dialect::kPromptLogprobs:
      return by_ids(answer, tokens, first);
    case Dialect::kEcho:
      return by_texts(answer, tokens, tokenizer);
    case Dialect::kSglang:
      return from_sglang(answer, tokens, first);
  }
  return run_error("no dialect");
}

int argmax_of(const TokenScore& score, int token) {
  if (std::isnan(score.log_prob) || score.log_prob < score.top_log_prob) return score.top;
  if (score.log_prob > score.top_log_prob || score.top < 0) return token;
  return std::min(score.top, token);
}

Result<Generated> parse_generated(const Json& answer) {
  NB_TRY(const Json* choice, first_choice(answer));
  Generated generated;
  const Json& text =
      at(*choice, "text").is_string() ? at(*choice, "text") : at(at(*choice, "message"), "content");
  const Json& ids = at(*choice, "token_ids");
  if (text.is_string()) generated.text = text.get<std::string>();
  if (!text.is_string() && !ids.is_array()) return run_error("a choice without a text");
  generated.finish_reason = text_at(*choice, "finish_reason");
  generated.prompt_tokens = whole_at(at(answer, "usage"), "prompt_tokens").value_or(-1);
  const Json& part = at(*choice, "logprobs");
  const Json& names = at(part, "tokens");
  if (ids.is_array()) {
    generated.tokens.emplace();
    for (const Json& entry : ids) {
      const auto id = id_of(entry);
      if (!id) return run_error("a generated token that is no id");
      generated.tokens->push_back(*id);
    }
  } else if (names.is_array() && !names.empty()) {
    std::vector<int> tokens;
    for (const Json& entry : names) {
      if (!entry.is_string()) break;
      const std::string& token = entry.get_ref<const std::string&>();
      const auto id = token.starts_with(kIdPrefix)
                          ? id_of(std::string_view(token).substr(kIdPrefix.size()))
                          : std::nullopt;
      if (!id) break;
      tokens.push_back(*id);
    }
    if (tokens.size() == names.size()) generated.tokens = std::move(tokens);
  }
  if (const auto stop = id_of(at(*choice, "stop_reason"));
      stop && generated.tokens && (generated.tokens->empty() || generated.tokens->back() != *stop))
    generated.stop_token = stop;
  // Of a chat, and of llama.cpp: a list of tokens, each with a list of likely ones.
  const Json& content = at(part, "content");
  generated.log_probs = content.is_array() ? all_numbers(content, "logprob")
                                           : all_numbers(at(part, "token_logprobs"));
  if (content.is_array() && !content.empty() && !generated.tokens) {
    std::vector<int> tokens;
    for (const Json& entry : content)
      if (const auto id = id_of(at(entry, "id"))) tokens.push_back(*id);
    if (tokens.size() == content.size()) generated.tokens = std::move(tokens);
  }
  if (content.is_array() && !content.empty())
    if (const Json& top = at(content[0], "top_logprobs"); top.is_array())
      for (const Json& one : top)
        if (at(one, "logprob").is_number())
          generated.first_top.emplace_back(text_at(one, "token"), number(at(one, "logprob")));
  if (const Json& top = at(part, "top_logprobs");
      top.is_array() && !top.empty() && top[0].is_object())
    for (const auto& [token, value] : top[0].items())
      if (value.is_number()) generated.first_top.emplace_back(token, number(value));
  return generated;
}

}  // namespace nb
