#include "harness/serve/completion_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/tokenizer/chat_tokens.hpp"

namespace nb {
namespace {

constexpr std::int64_t kMaxLogProbs = 20;  // vLLM's, OpenAI's chat
constexpr std::size_t kMaxPrompts = 1024;  // and answers to all of them
constexpr std::int64_t kMaxSamples = 128;
constexpr std::size_t kMaxStops = 16, kLongestStop = 1024;
constexpr std::size_t kMaxMessages = 4096;

// Members that would change what is generated: of another value than these they are refused.
struct Neutral {
  const char* name;
  const char* value;  // as JSON; empty: only absent, null, false, [] and {} are neutral
};
constexpr Neutral kNeutral[] = {
    {"best_of", "1"},
    {"length_penalty", "1.0"},
    {"use_beam_search", ""},
    {"suffix", R"("")"},
    {"response_format", R"({"type":"text"})"},
    {"tools", ""},
    {"functions", ""},
    {"tool_choice", R"("none")"},
    {"function_call", R"("none")"},
    {"guided_json", ""},
    {"guided_regex", ""},
    {"guided_choice", ""},
    {"guided_grammar", ""},
    {"structured_outputs", ""},
    {"logits_processors", ""},
    {"truncate_prompt_tokens", ""},
    {"prompt_embeds", ""},
    {"bad_words", ""},
    {"chat_template", ""},
    {"chat_template_kwargs", ""},
    {"documents", ""},
    {"continue_final_message", ""},
    {"add_generation_prompt", "true"},
    {"modalities", R"(["text"])"},
    {"audio", ""},
    {"lora_request", ""},
    {"xtc_probability", "0"},
    {"typical_p", "1"},
    {"dry_multiplier", "0"},
    {"mirostat", "0"},
    {"no_repeat_ngram_size", "0"},
};

void refuse_unknown_rules(Body& body) {
  for (const Neutral& rule : kNeutral) {
    const Json* value = body.find(rule.name);
    if (value == nullptr || *value == Json(false)) continue;
    if ((value->is_array() || value->is_object() || value->is_string()) && value->empty()) continue;
    if (*rule.value != '\0' && *value == Json::parse(rule.value)) continue;
    body.refuse(wrong(rule.name, "not implemented here, and the tokens would depend on it"));
  }
}

bool is_id(const Json& value, int vocab_size) {
  return value.is_number_unsigned() &&
         value.get<std::uint64_t>() < static_cast<std::uint64_t>(vocab_size);
}

std::optional<int> id_of(std::string_view digits, int vocab_size) {
  int id = -1;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, id);
  if (error != std::errc() || at != end || id < 0 || id >= vocab_size) return std::nullopt;
  return id;
}

void read_stops(Body& body, CompletionRequest& request) {
  const Json* value = body.find("stop");
  if (value == nullptr) return;
  const std::vector<Json> list =
      value->is_array() ? value->get<std::vector<Json>>() : std::vector<Json>{*value};
  if (list.size() > kMaxStops)
    return body.refuse(
        wrong("stop", fmt::format("{} strings, at most {}", list.size(), kMaxStops)));
  for (const Json& entry : list) {
    if (!entry.is_string() || entry.empty() || entry.get_ref<const std::string&>().empty() ||
        entry.get_ref<const std::string&>().size() > kLongestStop)
      return body.refuse(
          wrong("stop", fmt::format("a text of 1 to {} bytes, or several", kLongestStop)));
    request.stop.push_back(entry.get<std::string>());
  }
}

void read_bias(Body& body, SamplingOptions& options, int vocab_size) {
  const Json* value = body.find("logit_bias");
  if (value == nullptr) return;
  if (!value->is_object())
    return body.refuse(wrong("logit_bias", "an object: a token id to a number"));
  for (const auto& [key, bias] : value->items()) {
    const auto id = id_of(key, vocab_size);
    if (!id || !bias.is_number())
      return body.refuse(wrong(
          "logit_bias", fmt::format("token ids from 0 to {}, each to a number", vocab_size - 1)));
    options.logit_bias[*id] = std::clamp(bias.get<double>(), -100.0, 100.0);
  }
}

void read_sampling(Body& body, CompletionRequest& request, const Tokenizer& tokenizer) {
  GenerateRequest& sampling = request.sampling;
  SamplingOptions& options = sampling.sampling;
  const int vocab_size = tokenizer.vocab_size();
  sampling.temperature = body.number("temperature", 0, 2).value_or(1);
  if (const auto top_k = body.whole("top_k", -1, 1 << 30); top_k && *top_k > 0) {
    sampling.top_k = static_cast<int>(*top_k);
    options.ties = TopKTies::kAll;
  }
  options.top_p = body.number("top_p", 0, 1).value_or(1);
  options.min_p = body.number("min_p", 0, 1).value_or(0);
  options.repetition_penalty = body.number("repetition_penalty", 0, 1000).value_or(1);
  options.frequency_penalty = body.number("frequency_penalty", -2, 2).value_or(0);
  options.presence_penalty = body.number("presence_penalty", -2, 2).value_or(0);
  read_bias(body, options, vocab_size);
  options.allowed = body.ids("allowed_token_ids", vocab_size);
  if (const Json* allowed = body.find("allowed_token_ids"); allowed != nullptr && allowed->empty())
    body.refuse(wrong("allowed_token_ids", "at least one id"));
  options.min_tokens = body.whole("min_tokens", 0, 1 << 30).value_or(0);
  if (const auto seed = body.whole("seed", -1); seed && *seed >= 0) {
    request.has_seed = true;
    sampling.seed = static_cast<std::uint64_t>(*seed);
  }
  request.n = static_cast<int>(body.whole("n", 1, kMaxSamples).value_or(1));
  // A greedy answer is one; several equal ones are not refused as vLLM does.
  read_stops(body, request);
  request.includes_stop = body.flag("include_stop_str_in_output", false);
  request.stop_token_ids = body.ids("stop_token_ids", vocab_size);
  sampling.stop_tokens = request.stop_token_ids;
  if (!body.flag("ignore_eos", false)) {
    for (const int token : {tokenizer.special("<|assistant_end|>"), tokenizer.bos()})
      if (token >= 0) sampling.stop_tokens.push_back(token);
  }
  options.min_tokens_ids = options.min_tokens > 0 ? sampling.stop_tokens : std::vector<int>{};
  if (options.min_tokens_ids.empty()) options.min_tokens = 0;     // nothing ends it before
  if (sampling.stop_tokens.empty()) sampling.stop_tokens = {-1};  // no id ends it
  if (!body.error())
    if (const auto trouble =
            trouble_with(sampling.temperature, sampling.top_k, options, vocab_size))
      body.refuse(wrong(trouble->substr(0, trouble->find(' ')), *trouble));
}

void read_output(Body& body, CompletionRequest& request) {
  request.skips_specials = body.flag("skip_special_tokens", true);
  request.returns_ids = body.flag("return_token_ids", false);
  request.tokens_as_ids = body.flag("return_tokens_as_token_ids", false);
  if (const auto count = body.whole("prompt_logprobs", 0, kMaxLogProbs))
    request.prompt_logprobs = static_cast<int>(*count);
  request.first_scored =
      static_cast<std::size_t>(body.whole("logprob_start_len", 0, 1 << 30).value_or(1));
  request.first_scored = std::max<std::size_t>(request.first_scored, 1);
  request.streams = body.flag("stream", false);
  if (const Json* options = body.find("stream_options"); options != nullptr) {
    const auto usage = options->is_object() ? options->find("include_usage") : options->end();
    if (!options->is_object() ||
        (usage != options->end() && !usage->is_boolean() && !usage->is_null()))
      body.refuse(wrong("stream_options", "an object with include_usage: true or false"));
    else if (usage != options->end() && usage->is_boolean())
      request.includes_usage = usage->get<bool>();
  }
  if (request.streams && request.prompt_logprobs)
    body.refuse(wrong("prompt_logprobs", "not together with stream"));
  request.model = body.text("model").value_or("");
}

void read_prompts(Body& body, CompletionRequest& request, const ServedLimits& limits) {
  const Json* value = body.find("prompt");
  if (value == nullptr) return body.refuse(wrong("prompt", "missing"));
  const int vocab_size = limits.tokenizer->vocab_size();
  const bool adds_bos = body.flag("add_special_tokens", true);
  const auto add_ids = [&](const Json& ids) {
    std::vector<int> tokens;
    tokens.reserve(ids.size());
    for (const Json& entry : ids) {
      if (!is_id(entry, vocab_size))
        return body.refuse(wrong("prompt", fmt::format("entry {} is no token id from 0 to {}",
                                                       tokens.size(), vocab_size - 1)));
      tokens.push_back(entry.get<int>());
    }
    request.prompts.push_back(prompt_of(std::move(tokens), false, limits));
  };
  const auto add_text = [&](const Json& text) {
    request.prompts.push_back(
        prompt_of(limits.tokenizer->encode(text.get<std::string>()), adds_bos, limits));
  };
  if (value->is_string()) {
    add_text(*value);
  } else if (value->is_array() && !value->empty() && value->front().is_number()) {
    add_ids(*value);
  } else if (value->is_array() && !value->empty()) {
    if (value->size() > kMaxPrompts)
      return body.refuse(wrong(
          "prompt", fmt::format("{} prompts, at most {} at a time", value->size(), kMaxPrompts)));
    for (const Json& entry : *value) {
      if (entry.is_string())
        add_text(entry);
      else if (entry.is_array())
        add_ids(entry);
      else
        return body.refuse(wrong("prompt", fmt::format("a list of texts or of lists of ids, not "
                                                       "of {}",
                                                       kind_of(entry))));
    }
  } else {
    return body.refuse(wrong("prompt", "a text, a list of token ids, or a list of one of these"));
  }
  for (const ServedPrompt& prompt : request.prompts)
    if (prompt.tokens.empty())
      return body.refuse(wrong("prompt", "empty: there is nothing to go on from"));
  if (request.prompts.size() * static_cast<std::size_t>(request.n) > kMaxPrompts)
    body.refuse(wrong("n", fmt::format("{} answers to {} prompts each, at most {} in all",
                                       request.n, request.prompts.size(), kMaxPrompts)));
}

void check_lengths(Body& body, const CompletionRequest& request, const ServedLimits& limits) {
  for (const ServedPrompt& prompt : request.prompts) {
    const std::int64_t size = std::ssize(prompt.tokens);
    if (size + request.max_tokens <= limits.context_length) continue;
    ApiError error;
    error.message = fmt::format(
        "This model's maximum context length is {} tokens; {} were requested: {} of the prompt and "
        "{} of the answer. Make either shorter.",
        limits.context_length, size + request.max_tokens, size, request.max_tokens);
    error.param = request.is_chat ? "messages" : "prompt";
    error.code = "context_length_exceeded";
    return body.refuse(std::move(error));
  }
}

tl::expected<CompletionRequest, ApiError> finished(Body& body, CompletionRequest request,
                                                   const ServedLimits& limits) {
  if (!body.error()) check_lengths(body, request, limits);
  if (body.error()) return tl::unexpected<ApiError>(*body.error());
  request.ignored = body.unread();
  return request;
}

}  // namespace

ServedPrompt prompt_of(std::vector<int> tokens, bool wants_bos, const ServedLimits& limits) {
  const int bos = limits.tokenizer->bos();
  const bool has_bos = !tokens.empty() && tokens.front() == bos;
  ServedPrompt prompt{std::move(tokens), 0};
  const bool puts = limits.bos == BosRule::kAlways || (limits.bos == BosRule::kAuto && wants_bos);
  if (bos < 0 || has_bos || !puts) return prompt;
  prompt.tokens.insert(prompt.tokens.begin(), bos);
  prompt.hidden = limits.bos == BosRule::kAlways ? 1 : 0;
  return prompt;
}

std::vector<ChatMessage> read_messages(Body& body) {
  std::vector<ChatMessage> messages;
  const Json* list = body.find("messages");
  const auto refuse = [&](std::string why) {
    body.refuse(wrong("messages", std::move(why)));
    return std::vector<ChatMessage>();
  };
  if (list == nullptr) return refuse("missing");
  if (!list->is_array() || list->empty() || list->size() > kMaxMessages)
    return refuse(fmt::format("a list of 1 to {} messages", kMaxMessages));
  for (const Json& entry : *list) {
    const std::string where = fmt::format("message {}: ", messages.size());
    if (!entry.is_object()) return refuse(where + "not an object");
    const auto role = entry.find("role"), content = entry.find("content");
    if (role == entry.end() || !role->is_string()) return refuse(where + "no \"role\"");
    ChatMessage message{role->get<std::string>(), ""};
    if (content == entry.end()) return refuse(where + "no \"content\"");
    if (content->is_string()) {
      message.content = content->get<std::string>();
    } else if (content->is_array()) {  // parts; those of text are put together
      for (const Json& part : *content) {
        if (!part.is_object() || part.value("type", Json()) != Json("text") ||
            !part.contains("text") || !part["text"].is_string())
          return refuse(where + "parts other than text are not understood");
        message.content += part["text"].get<std::string>();
      }
    } else {
      return refuse(where + "\"content\" is no text");
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

tl::expected<std::vector<int>, ApiError> render_chat(std::span<const ChatMessage> messages,
                                                     const Tokenizer& tokenizer) {
  const auto special = chat_tokens(tokenizer);
  if (!special) {
    ApiError error;
    error.message =
        "this model's tokenizer has no chat tokens: ask /v1/completions for a continuation";
    return tl::unexpected<ApiError>(error);
  }
  std::vector<int> tokens = {special->bos};
  std::string system;
  std::size_t place = 0;
  const auto refuse = [&](std::string why) {
    return tl::unexpected<ApiError>(
        wrong("messages", fmt::format("message {}: {}", place, std::move(why))));
  };
  for (const ChatMessage& message : messages) {
    if (message.role == "system" || message.role == "developer") {
      if (place > 0) return refuse("a system message stands first only");
      system = message.content + "\n\n";
    } else if (message.role == "user") {
      tokens.push_back(special->user_start);
      tokenizer.encode_append(std::exchange(system, {}) + message.content, tokens);
      tokens.push_back(special->user_end);
    } else if (message.role == "assistant") {
      if (!system.empty()) return refuse("a user message follows the system's");
      tokens.push_back(special->assistant_start);
      tokenizer.encode_append(message.content, tokens);
      tokens.push_back(special->assistant_end);
    } else {
      return refuse("a role is system, user or assistant");
    }
    ++place;
  }
  if (!system.empty()) return refuse("a user message follows the system's");
  tokens.push_back(special->assistant_start);
  return tokens;
}

tl::expected<CompletionRequest, ApiError> parse_completion(std::string_view text,
                                                           const ServedLimits& limits) {
  auto body = Body::parse(text);
  if (!body) return tl::unexpected<ApiError>(body.error());
  CompletionRequest request;
  request.sampling.tools = false;
  read_output(*body, request);
  read_sampling(*body, request, *limits.tokenizer);
  refuse_unknown_rules(*body);
  request.echo = body->flag("echo", false);
  if (const auto count = body->whole("logprobs", 0, kMaxLogProbs))
    request.logprobs = static_cast<int>(*count);
  const bool scores = request.echo || request.prompt_logprobs;
  request.max_tokens = body->whole("max_tokens", scores ? 0 : 1, 1 << 30).value_or(16);
  if (!body->error()) read_prompts(*body, request, limits);
  return finished(*body, std::move(request), limits);
}

tl::expected<CompletionRequest, ApiError> parse_chat_completion(std::string_view text,
                                                                const ServedLimits& limits) {
  auto body = Body::parse(text);
  if (!body) return tl::unexpected<ApiError>(body.error());
  CompletionRequest request;
  request.is_chat = true;
  read_output(*body, request);
  read_sampling(*body, request, *limits.tokenizer);
  refuse_unknown_rules(*body);
  if (body->flag("echo", false)) body->refuse(wrong("echo", "of /v1/completions only"));
  const bool wants = body->flag("logprobs", false);
  const auto top = body->whole("top_logprobs", 0, kMaxLogProbs);
  if (top && *top > 0 && !wants) body->refuse(wrong("top_logprobs", "needs logprobs: true"));
  if (wants) request.logprobs = static_cast<int>(top.value_or(0));
  const auto max_tokens = body->whole("max_tokens", 1, 1 << 30);
  const auto newer = body->whole("max_completion_tokens", 1, 1 << 30);
  const std::vector<ChatMessage> messages = read_messages(*body);
  if (!body->error()) {
    auto prompt = render_chat(messages, *limits.tokenizer);
    if (prompt) {
      const std::int64_t room =
          std::max<std::int64_t>(1, limits.context_length - std::ssize(*prompt));
      request.max_tokens = newer ? *newer : max_tokens.value_or(room);
      request.prompts.push_back({std::move(*prompt), 0});
    } else {
      body->refuse(prompt.error());
    }
  }
  return finished(*body, std::move(request), limits);
}

}  // namespace nb
