#include "harness/remote/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/remote/find_model.hpp"
#include "harness/remote/prober.hpp"
#include "harness/remote/self_description.hpp"

namespace nb {
namespace {

constexpr std::string_view kPrompt = "The capital of France is Paris. One and two are three.";

}  // namespace

Result<ServerFacts> Prober::run(const std::string& model, bool by_chat) {
  facts_.by_chat = by_chat;
  NB_TRY_VOID(take_model(model));
  prompt_ = tokenizer_.encode(kPrompt);
  if (tokenizer_.bos() >= 0) prompt_.insert(prompt_.begin(), tokenizer_.bos());
  if (served_ != nullptr)
    look_at_served_tokenizer();
  else
    NB_TRY_VOID(compare_tokenizers());
  if (by_chat)
    NB_TRY_VOID(ask_chat());
  else
    NB_TRY_VOID(ask_about_ids());
  NB_TRY_VOID(ask_letters());
  NB_TRY_VOID(measure_noise());
  NB_TRY_VOID(look_at_template());
  std::ranges::sort(facts_.probes, {}, &ProbeResult::id);
  return std::move(facts_);
}

Result<void> Prober::take_model(const std::string& wanted) {
  NB_TRY(FoundModel found, find_model(connection_, wire_, wanted));
  facts_.model = std::move(found.model);
  wire_.model = facts_.model.id;
  facts_.host = who();
  facts_.context_length = facts_.model.max_model_len.value_or(0);
  note("P1", "passed", fmt::format("it serves {}", facts_.model.id));
  return find_kind(found.headers);
}

Result<void> Prober::find_kind(const std::map<std::string, std::string>& headers) {
  facts_.kind = facts_.model.owner;
  const auto server = headers.find("server");
  if (server != headers.end() && server->second.find("llama.cpp") != std::string::npos)
    facts_.kind = "llamacpp";
  if (facts_.kind != "vllm" && facts_.kind != "sglang" && facts_.kind != "llamacpp" &&
      facts_.kind != "npubench")
    facts_.kind = "unknown";
  wire_.cuts_scores = facts_.kind == "npubench";
  wire_.ids_by_log_probs = facts_.kind == "llamacpp";
  NB_TRY(auto told, ask_engine(connection_, facts_.kind));
  facts_.model.told.merge(told);
  // llama.cpp has no /version.
  if (facts_.model.told.contains("build_info")) facts_.version = facts_.model.told["build_info"];
  // Many servers have no such path; that they answer at all is known.
  NB_TRY(const RemoteAnswer answer, question(wire_.version()));
  if (!answer.is_ok()) return {};
  const auto json = parse_answer(answer.body);
  if (json && json->is_object() && json->contains("version") && (*json)["version"].is_string())
    facts_.version = (*json)["version"].get<std::string>().substr(0, 64);
  return {};
}

void Prober::note(const char* id, const char* outcome, std::string text) {
  facts_.probes.push_back({id, outcome, std::move(text)});
}

RemoteCall Prober::fixed(const Wire::Generation& generation) const {
  return facts_.by_chat ? wire_.chat(template_messages(), generation)
                        : wire_.generate(prompt_, generation);
}

Result<void> Prober::ask_chat() {
  Wire::Generation generation;
  generation.max_tokens = kCanaryTokens;
  const RemoteCall call = fixed(generation);
  NB_TRY(const RemoteAnswer answer, question(call));
  if (!answer.is_ok())
    return run_error(fmt::format("{}; it has no chats to be asked by --chat server",
                                 connection_.refusal(call, answer).message));
  NB_TRY(const Json json, connection_.json_of(call, answer));
  const auto generated = parse_generated(json);
  if (!generated)
    return run_error(
        fmt::format("{} answers {} with {}", who(), call.path, generated.error().message));
  facts_.canary_tokens = tokenizer_.encode(generated->text);
  facts_.why_no_scores = "a chat tells none";
  return {};
}

Result<RemoteAnswer> Prober::question(RemoteCall call) {
  call.is_question = true;
  return connection_.call(call);
}

Result<void> Prober::look_at_template() {
  NB_TRY(facts_.chat, ask_template(connection_, wire_));
  const ChatTemplate& chat = facts_.chat;
  if (chat.by.empty()) {
    note("P8", "not asked", "the server does not show what its chat template makes of messages");
    return {};
  }
  note("P8", "passed",
       chat.digest.empty() ? fmt::format("its chat template makes {} tokens of a fixed "
                                         "conversation",
                                         chat.tokens)
                           : fmt::format("what its chat template makes of a fixed conversation "
                                         "has digest {}",
                                         chat.digest.substr(0, 12)));
  return {};
}

Result<ServerFacts> probe_server(Connection& connection, Wire& wire, const Tokenizer& tokenizer,
                                 const std::string& model, bool by_chat,
                                 const ServedTokenizer* served) {
  return Prober(connection, wire, tokenizer, served).run(model, by_chat);
}

Result<std::vector<TokenScore>> score_prompt(Connection& connection, const Wire& wire,
                                             Dialect dialect, std::span<const int> tokens,
                                             const Tokenizer& tokenizer, double temperature) {
  const RemoteCall call = wire.score(dialect, tokens, 1, temperature);
  NB_TRY(const Json json, connection.json_of(call, connection.call(call)));
  auto scores = parse_scores(dialect, json, tokens, tokenizer);
  if (!scores)
    return run_error(fmt::format("{} answers with {}", connection.name(), scores.error().message));
  return scores;
}

Result<void> check_canary(Connection& connection, const Wire& wire, const ServerFacts& facts,
                          const Tokenizer& tokenizer) {
  ServerFacts now;
  const RemoteCall list = wire.models();
  NB_TRY(const Json models_json, connection.json_of(list, connection.call(list)));
  const auto models = parse_models(models_json);
  const auto changed = [&](const std::string& why) {
    return run_error(
        fmt::format("{} serves another model than when this evaluation began: {}; the "
                    "items of this batch are not kept",
                    connection.name(), why));
  };
  if (!models) return changed(fmt::format("it answers with {}", models.error().message));
  const auto same = std::ranges::find(*models, facts.model.id, &ServedModel::id);
  if (same == models->end()) return changed(facts.model.id + " is gone");
  now = facts;
  now.context_length = same->max_model_len.value_or(0);
  if (facts.model.max_model_len != same->max_model_len)
    return changed("its context has another length");
  if (facts.dialect) {
    NB_TRY(const auto scores,
           score_prompt(connection, wire, *facts.dialect, facts.canary, tokenizer));
    now.canary_log_probs.clear();
    for (const TokenScore& score : scores) now.canary_log_probs.push_back(score.log_prob);
  } else if (facts.noise.flips == 0) {
    Wire::Generation generation;
    generation.max_tokens = Prober::kCanaryTokens;
    const RemoteCall call = facts.by_chat ? wire.chat(template_messages(), generation)
                                          : wire.generate(facts.canary, generation);
    NB_TRY(const Json json, connection.json_of(call, connection.call(call)));
    const auto generated = parse_generated(json);
    if (!generated) return changed(fmt::format("it answers with {}", generated.error().message));
    now.canary_tokens = generated->tokens ? *generated->tokens : tokenizer.encode(generated->text);
  }
  now.context_length = facts.context_length;
  for (const float value : now.canary_log_probs)
    if (!std::isfinite(value)) return changed("its numbers are none any more");
  const std::string why = other_model(facts_json(facts), facts_json(now));
  return why.empty() ? Result<void>() : Result<void>(changed(why));
}

}  // namespace nb
