#include "harness/remote/self_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/hash.hpp"

namespace nb {
namespace {

// sglang's http_server.py: its ServerArgs, flat. llama.cpp's server-context.cpp, get_props().
constexpr std::string_view kSglang[] = {"dtype",          "quantization",
                                        "kv_cache_dtype", "attention_backend",
                                        "tp_size",        "enable_deterministic_inference"};
constexpr std::string_view kLlamaCpp[] = {"build_info"};

struct EngineDocument {
  std::string_view kind, path;
  std::span<const std::string_view> members;
};
constexpr EngineDocument kDocuments[] = {
    {"sglang", "/get_server_info", kSglang},
    {"llamacpp", "/props", kLlamaCpp},
};

constexpr double kSmallestStep = 1.0 / 4096;
constexpr double kPrinted = 4e-6;  // nat: two fp32 numbers of up to 32, rounded
constexpr int kEnough = 6;         // chance meets the smallest step at 3 % of the places

// Nothing: the server has no such path, or means something else by it.
Result<Json> asked(Connection& connection, RemoteCall call) {
  call.is_question = true;
  NB_TRY(const RemoteAnswer answer, connection.call(call));
  if (!answer.is_ok()) return Json();
  const auto json = parse_answer(answer.body);
  return json && json->is_object() ? *json : Json();
}

}  // namespace

Result<std::map<std::string, std::string>> ask_engine(Connection& connection,
                                                      const std::string& kind) {
  for (const EngineDocument& document : kDocuments) {
    if (document.kind != kind) continue;
    NB_TRY(const Json json, asked(connection, {std::string(document.path), std::nullopt, 0}));
    return parse_told(json, document.members);
  }
  return std::map<std::string, std::string>();
}

Json template_messages() {
  return Json::parse(R"([{"role": "user", "content": "Hello."},
      {"role": "assistant", "content": "Hello! How can I help?"},
      {"role": "user", "content": "What is 12 + 30?"}])");
}

Result<ChatTemplate> ask_template(Connection& connection, const Wire& wire) {
  const Json messages = template_messages();
  NB_TRY(const Json ids, asked(connection, wire.tokenize_chat(messages)));
  // A server that knows texts only has no ids of messages, or none at all.
  if (const auto tokens = parse_tokens(ids); tokens && !tokens->empty())
    return ChatTemplate{"tokenize", sha256_hex(fmt::format("{}", fmt::join(*tokens, " "))),
                        std::ssize(*tokens)};
  NB_TRY(const Json text, asked(connection, wire.apply_template(messages)));
  if (text.is_object() && text.contains("prompt") && text["prompt"].is_string())
    return ChatTemplate{"apply-template", sha256_hex(text["prompt"].get<std::string>()), 0};
  NB_TRY(const Json answer, asked(connection, wire.chat(messages, {})));
  if (const auto generated = parse_generated(answer); generated && generated->prompt_tokens > 0)
    return ChatTemplate{"prompt_tokens", "", generated->prompt_tokens};
  return ChatTemplate{};
}

std::optional<double> logit_step(std::span<const TokenScore> scores) {
  std::vector<double> gaps;
  for (const TokenScore& score : scores)
    if (std::isfinite(score.log_prob) && score.top_log_prob > score.log_prob)
      gaps.push_back(static_cast<double>(score.top_log_prob) - static_cast<double>(score.log_prob));
  if (std::ssize(gaps) < kEnough) return std::nullopt;
  for (double step = 1; step >= kSmallestStep; step /= 2)
    if (std::ranges::all_of(gaps, [step](double gap) {
          return std::fabs(gap - std::round(gap / step) * step) <= kPrinted;
        }))
      return step;
  return 0;
}

}  // namespace nb
