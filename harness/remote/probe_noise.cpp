// P6: how far answers to one request move between batches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/remote/prober.hpp"
#include "harness/remote/self_description.hpp"

namespace nb {
namespace {

constexpr int kAlone = 5, kBurst = 32;

}  // namespace

Result<void> Prober::measure_noise() {
  Wire::Generation generation;
  generation.max_tokens = kCanaryTokens;
  const auto one = [&](std::span<const int> tokens) {
    if (facts_.by_chat && tokens.size() < prompt_.size())
      return wire_.chat(Json::array({template_messages().back()}), generation);
    if (facts_.by_chat) return fixed(generation);
    return facts_.dialect ? wire_.score(*facts_.dialect, tokens, 1)
                          : wire_.generate(tokens, generation);
  };
  std::vector<RemoteAnswer> same;
  for (int i = 0; i < kAlone; ++i) {
    NB_TRY(RemoteAnswer answer, connection_.call(one(prompt_)));
    same.push_back(std::move(answer));
  }
  std::vector<RemoteCall> burst;
  for (int i = 0; i < kBurst; ++i) {
    const std::size_t length =
        i % 2 == 0 ? prompt_.size() : 2 + static_cast<std::size_t>(i) % (prompt_.size() - 1);
    burst.push_back(one(std::span(prompt_).first(std::min(length, prompt_.size()))));
  }
  const auto answers = connection_.call_all(burst);
  for (std::size_t i = 0; i < answers.size(); i += 2) {
    if (!answers[i]) return tl::unexpected<Error>(answers[i].error());
    same.push_back(*answers[i]);
  }
  for (const RemoteAnswer& answer : same) NB_TRY_VOID(add_noise(one(prompt_), answer));
  say_noise();
  return {};
}

Result<void> Prober::add_noise(const RemoteCall& call, const RemoteAnswer& answer) {
  NB_TRY(const Json json, connection_.json_of(call, answer));
  ServerNoise& noise = facts_.noise;
  ++noise.compared;
  if (!facts_.dialect) {
    const auto generated = parse_generated(json);
    if (!generated)
      return run_error(fmt::format("{} answers with {}", who(), generated.error().message));
    const auto tokens = generated->tokens ? *generated->tokens : tokenizer_.encode(generated->text);
    noise.flips += tokens == facts_.canary_tokens ? 0 : 1;
    if (noise.compared == 1) answered_ = generated->log_probs;
    const std::vector<float>& now = generated->log_probs;
    if (tokens != facts_.canary_tokens || now.empty() || now.size() != answered_.size()) return {};
    noise.has_log_probs = true;
    for (std::size_t i = 0; i < now.size(); ++i) see_move(now[i], answered_[i]);
    return {};
  }
  const auto scores = parse_scores(*facts_.dialect, json, prompt_, tokenizer_);
  if (!scores) return run_error(fmt::format("{} answers with {}", who(), scores.error().message));
  if (first_.empty()) first_ = *scores;
  noise.has_log_probs = true;
  for (std::size_t i = 0; i < scores->size(); ++i) {
    see_move((*scores)[i].log_prob, first_[i].log_prob);
    noise.flips += (*scores)[i].top == first_[i].top ? 0 : 1;
  }
  return {};
}

void Prober::see_move(float now, float first) {
  double& largest = facts_.noise.max_abs_log_prob;
  largest = std::max(largest, std::fabs(static_cast<double>(now) - static_cast<double>(first)));
}

void Prober::say_noise() {
  const ServerNoise& noise = facts_.noise;
  if (!noise.has_log_probs && noise.flips == 0) {
    note("P6", "passed",
         fmt::format("{} greedy answers alone and in a burst are the same; no log-probabilities "
                     "are told that would show smaller moves",
                     noise.compared));
    return;
  }
  if (noise.is_batch_invariant()) {
    note("P6", "passed",
         fmt::format("{} answers alone and in a burst have the same bits: batch-invariant",
                     noise.compared));
    return;
  }
  const std::string text =
      noise.max_abs_log_prob > 0
          ? fmt::format(
                "log-probabilities move by up to {:.3g} nat between {} answers to one "
                "request",
                noise.max_abs_log_prob, noise.compared)
          : fmt::format("{} of {} greedy answers to one request differ", noise.flips,
                        noise.compared);
  note("P6", "warned", text);
  // Both have the variable: docs.vllm.ai, features/batch_invariance; the same of vllm-ascend.
  facts_.notes.push_back(
      fmt::format("{}: {} (P6); {}", who(), text,
                  facts_.kind == "vllm"
                      ? "start it with VLLM_BATCH_INVARIANT=1 (vLLM, vllm-ascend) for answers "
                        "that do not depend on the batch"
                      : "answers depend on the batch"));
}

}  // namespace nb
