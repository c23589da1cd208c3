#include "harness/remote/wire.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace nb {
namespace {

constexpr int kBias = 100;  // the largest that OpenAI's reference allows

RemoteCall post(const std::string& path, const Json& body, std::int64_t new_tokens) {
  return {path, body.dump(), new_tokens};
}

}  // namespace

RemoteCall Wire::models() const { return {base.path + "/models", std::nullopt, 0}; }
RemoteCall Wire::version() const { return {"/version", std::nullopt, 0}; }

RemoteCall Wire::tokenizer_info() const { return {"/tokenizer_info", std::nullopt, 0}; }

// llama.cpp: tools/server/server-context.cpp, post_tokenize @ 050ee92d. vLLM:
// entrypoints/serve/tokenize/protocol.py @ 030ea52e; unknown members are taken.
RemoteCall Wire::tokenize(const std::string& text, bool marked, bool reads_names) const {
  Json body{{"model", model},
            {"prompt", text},
            {"add_special_tokens", marked},
            {"content", text},
            {"add_special", marked}};
  if (!reads_names) body["parse_special"] = false;
  return post("/tokenize", body, 0);
}

// sglang leaves special tokens out unless it is told not to.
RemoteCall Wire::detokenize(std::span<const int> tokens) const {
  return post("/detokenize", {{"model", model}, {"tokens", tokens}, {"skip_special_tokens", false}},
              0);
}

RemoteCall Wire::tokenize_chat(const Json& messages) const {
  return post("/tokenize",
              {{"model", model}, {"messages", messages}, {"add_generation_prompt", true}}, 0);
}

RemoteCall Wire::apply_template(const Json& messages) const {
  return post("/apply-template", {{"messages", messages}}, 0);
}

RemoteCall Wire::score(Dialect dialect, std::span<const int> tokens, std::size_t start,
                       double temperature) const {
  if (dialect == Dialect::kSglang)
    return post("/generate",
                {{"input_ids", tokens},
                 {"sampling_params", {{"max_new_tokens", 1}, {"temperature", temperature}}},
                 {"return_logprob", true},
                 {"logprob_start_len", start - 1},
                 {"top_logprobs_num", 1}},
                1);
  Json body{{"model", model}, {"prompt", tokens}, {"max_tokens", 1}, {"temperature", temperature}};
  if (dialect == Dialect::kPromptLogprobs) {
    body["prompt_logprobs"] = 1;
    if (cuts_scores) body["max_tokens"] = 0;
    if (cuts_scores && start > 1) body["logprob_start_len"] = start;
  } else {
    body["logprobs"] = 1;
    body["echo"] = true;
  }
  return post(base.path + "/completions", body, 1);
}

RemoteCall Wire::generate(std::span<const int> prompt, const Generation& generation) const {
  Json body{{"model", model},
            {"prompt", prompt},
            {"max_tokens", generation.max_tokens},
            {"temperature", generation.temperature}};
  if (generation.temperature > 0) body["seed"] = generation.seed;
  if (generation.temperature > 0 && generation.top_k) body["top_k"] = *generation.top_k;
  if (generation.top > 0 || ids_by_log_probs) body["logprobs"] = std::max(1, generation.top);
  if (has_extras) {
    body["return_token_ids"] = true;
    body["skip_special_tokens"] = false;
    if (!generation.stop_tokens.empty()) body["stop_token_ids"] = generation.stop_tokens;
  }
  if (!generation.allowed_tokens.empty()) body["allowed_token_ids"] = generation.allowed_tokens;
  for (const int token : generation.biased_tokens)
    body["logit_bias"][std::to_string(token)] = kBias;
  return post(base.path + "/completions", body, generation.max_tokens);
}

RemoteCall Wire::chat(const Json& messages, const Generation& generation) const {
  Json body{{"model", model},
            {"messages", messages},
            {"max_tokens", generation.max_tokens},
            {"temperature", generation.temperature}};
  if (generation.temperature > 0) body["seed"] = generation.seed;
  if (generation.temperature > 0 && generation.top_k) body["top_k"] = *generation.top_k;
  if (generation.top > 0) {
    body["logprobs"] = true;
    body["top_logprobs"] = generation.top;
  }
  if (!generation.allowed_tokens.empty()) body["allowed_token_ids"] = generation.allowed_tokens;
  for (const int token : generation.biased_tokens)
    body["logit_bias"][std::to_string(token)] = kBias;
  return post(base.path + "/chat/completions", body, generation.max_tokens);
}

RemoteCall Wire::complete_text(const std::string& text) const {
  return post(base.path + "/completions",
              {{"model", model}, {"prompt", text}, {"max_tokens", 1}, {"temperature", 0}}, 1);
}

}  // namespace nb
