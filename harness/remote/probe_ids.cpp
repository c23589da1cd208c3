// P5, P7: whether ids are a prompt, what is told of an answer, and whether it is the likeliest one.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/remote/prober.hpp"
#include "harness/remote/probes.hpp"

namespace nb {
namespace {

constexpr int kGreedyTokens = 8;

}  // namespace

Result<void> Prober::ask_about_ids() {
  NB_TRY_VOID(ask_generation());
  NB_TRY_VOID(ask_stops());
  NB_TRY_VOID(ask_scores());
  if (facts_.dialect) NB_TRY_VOID(ask_temperature());
  if (facts_.dialect) NB_TRY_VOID(compare_greedy());
  return {};
}

Result<void> Prober::ask_generation() {
  Wire::Generation generation;
  generation.max_tokens = kCanaryTokens;
  RemoteCall call = wire_.generate(prompt_, generation);
  NB_TRY(RemoteAnswer answer, question(call));
  if (!answer.is_ok()) {
    wire_.has_extras = false;
    call = wire_.generate(prompt_, generation);
    NB_TRY(answer, question(call));
  }
  if (!answer.is_ok())
    return run_error(
        fmt::format("{}; it takes no token ids as a prompt, and no way of scoring is "
                    "left: every one sends ids",
                    connection_.refusal(call, answer).message));
  facts_.has_extras = wire_.has_extras;
  NB_TRY(const Json json, connection_.json_of(call, answer));
  const auto generated = parse_generated(json);
  if (!generated)
    return run_error(
        fmt::format("{} answers {} with {}", who(), call.path, generated.error().message));
  facts_.returns_ids = generated->tokens.has_value();
  if (!facts_.returns_ids)
    facts_.notes.push_back(
        fmt::format("{} tells texts, no ids: special tokens in answers are lost, and with them "
                    "the calculator",
                    who()));
  facts_.canary = prompt_;
  facts_.canary_tokens =
      generated->tokens ? *generated->tokens : tokenizer_.encode(generated->text);
  const std::int64_t more =
      generated->prompt_tokens < 0 ? 0 : generated->prompt_tokens - std::ssize(prompt_);
  if (more > 0) return second_bos(more);
  note("P7", generated->prompt_tokens < 0 ? "not asked" : "passed",
       generated->prompt_tokens < 0 ? "the server does not count the prompt's tokens"
                                    : "the prompt is what was sent");
  return {};
}

Result<void> Prober::ask_stops() {
  if (!facts_.returns_ids || facts_.canary_tokens.empty() || !wire_.has_extras) return {};
  const int first = facts_.canary_tokens.front();
  Wire::Generation generation;
  generation.max_tokens = 2;
  generation.stop_tokens = {first};
  NB_TRY(const RemoteAnswer answer, question(wire_.generate(prompt_, generation)));
  if (!answer.is_ok()) return {};
  const auto json = parse_answer(answer.body);
  const auto generated = json ? parse_generated(*json) : Result<Generated>(run_error(""));
  facts_.names_stops = generated && generated->tokens &&
                       (generated->stop_token == first ||
                        (!generated->tokens->empty() && generated->tokens->front() == first));
  return {};
}

Result<void> Prober::second_bos(std::int64_t more) {
  return run_error(fmt::format(
      "{} puts {} token{} in front of the ids that it is sent, a second <|bos|>: every score "
      "would be of another prompt, and no way of scoring is left (P7); vLLM does so to texts "
      "only, look for a proxy or a template between",
      who(), more, more == 1 ? "" : "s"));
}

Result<void> Prober::compare_greedy() {
  std::vector<int> said = facts_.canary_tokens;
  if (said.size() > kGreedyTokens) said.resize(kGreedyTokens);
  if (!facts_.returns_ids || said.empty()) {
    note("P5", "not asked", "no ids were generated");
    return {};
  }
  std::vector<int> tokens = prompt_;
  tokens.insert(tokens.end(), said.begin(), said.end());
  NB_TRY(const auto scores, score_prompt(connection_, wire_, *facts_.dialect, tokens, tokenizer_));
  for (std::size_t k = 0; k < said.size(); ++k) {
    const TokenScore& score = scores[prompt_.size() + k - 1];
    if (score.log_prob >= score.top_log_prob) continue;
    const std::string text = fmt::format(
        "token {} of a greedy answer is not the likeliest when it is scored ({:.3g} nat below)",
        k + 1, score.top_log_prob - score.log_prob);
    note("P5", "warned", text);
    facts_.notes.push_back(fmt::format("{}: {}: prefill and decoding differ (P5)", who(), text));
    return {};
  }
  note("P5", "passed", fmt::format("{} greedy tokens are the likeliest ones", said.size()));
  return {};
}

}  // namespace nb
