#include "harness/remote/server_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"

namespace nb {
namespace {

// Below it rounding may move a log-probability (results/stats/margin_shift.hpp, kRoundingLimit).
constexpr double kRounding = 0.05;
constexpr double kDeviations = 4;

double noise_of(const Json& facts) {
  const Json noise = facts.value("noise", Json::object());
  return noise.is_object() ? noise.value("max_abs_log_prob", 0.0) : 0.0;
}

}  // namespace

std::string_view name(LetterWay way) {
  switch (way) {
    case LetterWay::kNone:
      return "none";
    case LetterWay::kAllowedTokens:
      return "allowed_token_ids";
    case LetterWay::kLogitBias:
      return "logit_bias";
    case LetterWay::kTopLogProbs:
      return "top_logprobs";
  }
  return "";
}

Json facts_json(const ServerFacts& facts) {
  Json probes = Json::object();
  for (const ProbeResult& probe : facts.probes)
    probes[probe.id] = {{"outcome", probe.outcome}, {"text", probe.text}};
  Json json{{"host", facts.host},
            {"chats", facts.by_chat ? "there" : "here"},
            {"kind", facts.kind},
            {"version", facts.version},
            {"model", facts.model.id},
            {"max_model_len", facts.context_length},
            {"prompt_log_probs", facts.dialect ? std::string(name(*facts.dialect)) : "none"},
            {"returns_ids", facts.returns_ids},
            {"letters", name(facts.letters)},
            {"noise",
             {{"max_abs_log_prob", facts.noise.max_abs_log_prob},
              {"flips", facts.noise.flips},
              {"compared", facts.noise.compared},
              {"batch_invariant", facts.noise.is_batch_invariant()}}},
            {"told", facts.model.told},
            {"chat_template",
             {{"by", facts.chat.by}, {"digest", facts.chat.digest}, {"tokens", facts.chat.tokens}}},
            {"logit_step", optional_json(facts.logit_step)},
            {"probes", probes},
            {"canary",
             {{"prompt", sha256_hex(fmt::format("{}", fmt::join(facts.canary, " ")))},
              {"log_probs", facts.canary_log_probs},
              {"tokens", facts.canary_tokens}}}};
  if (facts.encodes) json["tokenizes"] = "there";
  return json;
}

std::string other_model(const Json& before, const Json& now) {
  try {
    if (before.at("model") != now.at("model"))
      return fmt::format("it was {}, and is {}", before.at("model").get<std::string>(),
                         now.at("model").get<std::string>());
    if (before.at("max_model_len") != now.at("max_model_len"))
      return fmt::format("its context was {} tokens, and is {}", before.at("max_model_len").dump(),
                         now.at("max_model_len").dump());
    const Json &was = before.at("canary"), &is = now.at("canary");
    if (was.at("prompt") != is.at("prompt")) return "";  // another tokenizer: another evaluation
    const auto a = was.at("log_probs").get<std::vector<double>>();
    const auto b = is.at("log_probs").get<std::vector<double>>();
    if (a.size() != b.size()) return "";  // it scored by another method then
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
    const double limit =
        std::max(kRounding, kDeviations * std::max(noise_of(before), noise_of(now)));
    if (largest > limit)
      return fmt::format(
          "log-probabilities of a fixed prompt moved by {:.3g} nat, its noise by {:.3g}", largest,
          std::max(noise_of(before), noise_of(now)));
    if (a.empty() && was.at("tokens") != is.at("tokens"))
      return "it goes on differently behind a fixed prompt";
  } catch (const Json::exception&) {
    return "";  // a record of another form says nothing
  }
  return "";
}

}  // namespace nb
