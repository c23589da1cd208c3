#include "harness/remote/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/remote/find_model.hpp"
#include "harness/remote/probe_texts.hpp"
#include "harness/remote/self_description.hpp"

namespace nb {
namespace {

constexpr std::string_view kPrompt = "The capital of France is Paris. One and two are three.";
constexpr double kSumLimit = 1 + 1e-3;  // of probabilities in fp32, rounded on their way
constexpr double kSameScore = 1e-3;     // nat, beside what the server's noise allows
constexpr double kOtherTemperature = 2;
constexpr int kGreedyTokens = 8, kCanaryTokens = 16;
constexpr int kAlone = 5, kBurst = 32;
constexpr int kTopTokens[] = {20, 5};  // vLLM's largest, MindIE's

class Prober {
 public:
  Prober(Connection& connection, Wire& wire, const Tokenizer& tokenizer,
         const ServedTokenizer* served)
      : connection_(connection), wire_(wire), tokenizer_(tokenizer), served_(served) {}

  Result<ServerFacts> run(const std::string& model, bool by_chat) {
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

 private:
  void note(const char* id, const char* outcome, std::string text) {
    facts_.probes.push_back({id, outcome, std::move(text)});
  }
  std::string who() const { return connection_.name(); }

  Result<RemoteAnswer> question(RemoteCall call) {
    call.is_question = true;
    return connection_.call(call);
  }

  // P1, and who it is.
  Result<void> take_model(const std::string& wanted) {
    NB_TRY(FoundModel found, find_model(connection_, wire_, wanted));
    facts_.model = std::move(found.model);
    wire_.model = facts_.model.id;
    facts_.host = who();
    facts_.context_length = facts_.model.max_model_len.value_or(0);
    note("P1", "passed", fmt::format("it serves {}", facts_.model.id));
    return find_kind(found.headers);
  }

  Result<void> find_kind(const std::map<std::string, std::string>& headers) {
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

  // P2 where the server encodes: there is nothing to compare with.
  void look_at_served_tokenizer() {
    facts_.encodes = true;
    const int back = served_->texts_that_come_back();
    const auto all = static_cast<int>(kSpecialText);
    note("P2", back == all ? "passed" : "warned",
         fmt::format("the server encodes and decodes all texts itself; {} of {} come back as they "
                     "were",
                     back, all));
    facts_.notes.insert(facts_.notes.end(), served_->notes().begin(), served_->notes().end());
  }

  // P2: by /tokenize, else by how many tokens the server counts.
  Result<void> compare_tokenizers() {
    std::vector<RemoteCall> calls;
    for (const std::string_view text : kProbeTexts)
      calls.push_back(wire_.tokenize(std::string(text)));
    NB_TRY(const RemoteAnswer first, question(calls.front()));
    if (!first.is_ok()) return count_tokens();
    const auto answers = connection_.call_all(calls);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      NB_TRY(const Json json, connection_.json_of(calls[i], answers[i]));
      auto theirs = parse_tokens(json);
      if (!theirs) return count_tokens();
      const std::vector<int> ours = tokenizer_.encode(kProbeTexts[i]);
      if (*theirs == ours) continue;
      // A leading <|bos|> although none was asked for is no other tokenizer: ids are sent.
      if (!theirs->empty() && theirs->front() == tokenizer_.bos() &&
          std::equal(theirs->begin() + 1, theirs->end(), ours.begin(), ours.end()))
        continue;
      if (i == kSpecialText) {
        facts_.notes.push_back(
            fmt::format("{} reads names of special tokens in a text as these tokens; here they "
                        "stay text",
                        who()));
        continue;
      }
      return differs(i, *theirs, ours);
    }
    note("P2", "passed", fmt::format("{} texts have the same ids", kProbeTexts.size()));
    return {};
  }

  Result<void> differs(std::size_t i, const std::vector<int>& theirs,
                       const std::vector<int>& ours) {
    const auto [a, b] = std::ranges::mismatch(theirs, ours);
    return bad_input(
        fmt::format("--tokenizer: not the one of {}: in text {} of {} (\"{}\") token {} is {} "
                    "there and {} here; "
                    "give the tokenizer.json of the served model (P2)",
                    who(), i + 1, kProbeTexts.size(), std::string(kProbeTexts[i]),
                    a - theirs.begin(), a == theirs.end() ? "missing" : std::to_string(*a),
                    b == ours.end() ? "missing" : std::to_string(*b)));
  }

  Result<void> count_tokens() {
    std::vector<RemoteCall> calls;
    for (const std::string_view text : kProbeTexts)
      calls.push_back(wire_.complete_text(std::string(text)));
    std::int64_t front = -1, compared = 0;
    const auto answers = connection_.call_all(calls);
    for (std::size_t i = 0; i < kSpecialText; ++i) {
      if (!answers[i] || !answers[i]->is_ok()) continue;
      const auto json = parse_answer(answers[i]->body);
      const auto generated = json ? parse_generated(*json) : Result<Generated>(run_error(""));
      if (!generated || generated->prompt_tokens < 0) continue;
      const auto ours = std::ssize(tokenizer_.encode(kProbeTexts[i]));
      const std::int64_t more = generated->prompt_tokens - ours;
      if (front < 0 && (more == 0 || more == 1)) front = more;
      if (more != front)
        return bad_input(fmt::format(
            "--tokenizer: not the one of {}: text {} of {} (\"{}\") has {} tokens there and {} "
            "here; "
            "give the tokenizer.json of the served model (P2)",
            who(), i + 1, kProbeTexts.size(), std::string(kProbeTexts[i]), generated->prompt_tokens,
            ours));
      ++compared;
    }
    if (compared == 0) {
      note("P2", "not asked", "the server tells neither ids nor numbers of tokens");
      facts_.notes.push_back(fmt::format(
          "{} has no /tokenize and counts no tokens: whether the tokenizers agree is not known",
          who()));
      return {};
    }
    note("P2", "passed",
         fmt::format("{} texts have the same numbers of tokens; the server tells no "
                     "ids",
                     compared));
    return {};
  }

  Result<void> ask_about_ids() {
    NB_TRY_VOID(ask_generation());
    NB_TRY_VOID(ask_stops());
    NB_TRY_VOID(ask_scores());
    if (facts_.dialect) NB_TRY_VOID(ask_temperature());
    if (facts_.dialect) NB_TRY_VOID(compare_greedy());
    return {};
  }

  // A fixed request; in a chat the fixed conversation.
  RemoteCall fixed(const Wire::Generation& generation) const {
    return facts_.by_chat ? wire_.chat(template_messages(), generation)
                          : wire_.generate(prompt_, generation);
  }

  Result<void> ask_chat() {
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

  // Are ids taken as a prompt, and what is told of what was generated? P7.
  Result<void> ask_generation() {
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

  // The calculator is called at one of several ids that end an answer: which one was it?
  Result<void> ask_stops() {
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

  Result<void> second_bos(std::int64_t more) {
    return run_error(fmt::format(
        "{} puts {} token{} in front of the ids that it is sent, a second <|bos|>: every score "
        "would be of another prompt, and no way of scoring is left (P7); vLLM does so to texts "
        "only, look for a proxy or a template between",
        who(), more, more == 1 ? "" : "s"));
  }

  // P3.
  Result<void> ask_scores() {
    std::string reasons;
    for (const Dialect dialect : {Dialect::kPromptLogprobs, Dialect::kEcho, Dialect::kSglang}) {
      if (dialect == Dialect::kSglang && facts_.kind == "vllm") continue;
      const RemoteCall call = wire_.score(dialect, prompt_, 1);
      NB_TRY(const RemoteAnswer answer, question(call));
      std::string reason;
      if (answer.is_ok()) {
        const auto json = parse_answer(answer.body);
        NB_TRY_VOID(refuse_second_bos(json));
        const auto scores = json ? parse_scores(dialect, *json, prompt_, tokenizer_)
                                 : Result<std::vector<TokenScore>>(run_error(json.error().message));
        reason = scores ? what_is_wrong(*scores) : scores.error().message;
        if (reason.empty()) {
          facts_.dialect = dialect;
          facts_.logit_step = logit_step(*scores);
          for (const TokenScore& score : *scores) facts_.canary_log_probs.push_back(score.log_prob);
          note(
              "P3", "passed",
              fmt::format("{} log-probabilities of a prompt by {}", scores->size(), name(dialect)));
          return {};
        }
      } else {
        reason = fmt::format("refused with status {}", answer.status);
      }
      if (dialect == Dialect::kSglang && !answer.is_ok()) continue;  // it is not sglang
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name(dialect), reason);
    }
    facts_.why_no_scores = "P3: " + reasons;
    note("P3", "failed", reasons);
    return {};
  }

  // One entry more than was sent, and the first two alike: a second <|bos|>.
  Result<void> refuse_second_bos(const Result<Json>& answer) {
    if (!answer) return {};
    std::vector<int> doubled = prompt_;
    doubled.insert(doubled.begin(), prompt_.front());
    for (const Dialect dialect : {Dialect::kPromptLogprobs, Dialect::kEcho})
      if (!parse_scores(dialect, *answer, prompt_, tokenizer_) &&
          parse_scores(dialect, *answer, doubled, tokenizer_))
        return second_bos(1);
    return {};
  }

  static std::string what_is_wrong(std::span<const TokenScore> scores) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const TokenScore& score = scores[i];
      if (!std::isfinite(score.log_prob))
        return fmt::format("the log-probability at position {} is no number", i + 1);
      if (score.log_prob > 1e-6F)
        return fmt::format("the log-probability at position {} is above 0", i + 1);
      double sum = std::exp(static_cast<double>(score.log_prob));
      if (score.top_log_prob > score.log_prob)
        sum += std::exp(static_cast<double>(score.top_log_prob));
      if (sum > kSumLimit)
        return fmt::format("two probabilities at position {} sum to {:.3g}", i + 1, sum);
    }
    return "";
  }

  // P4.
  Result<void> ask_temperature() {
    const auto hot =
        score_prompt(connection_, wire_, *facts_.dialect, prompt_, tokenizer_, kOtherTemperature);
    if (!hot) return tl::unexpected<Error>(hot.error());
    double largest = 0;
    for (std::size_t i = 0; i < hot->size(); ++i)
      largest = std::max(largest, std::fabs(static_cast<double>((*hot)[i].log_prob) -
                                            static_cast<double>(facts_.canary_log_probs[i])));
    if (largest <= kSameScore + 0.05) {
      note("P4", "passed", "log-probabilities do not depend on the temperature");
      return {};
    }
    facts_.why_no_scores = fmt::format(
        "P4: its log-probabilities are scaled by the temperature ({:.3g} nat between 0 and {}); "
        "vLLM gives raw ones with --logprobs-mode raw_logprobs",
        largest, kOtherTemperature);
    note("P4", "failed", facts_.why_no_scores.substr(4));
    facts_.dialect.reset();
    facts_.canary_log_probs.clear();
    return {};
  }

  // P5: what it says is what it finds most likely.
  Result<void> compare_greedy() {
    std::vector<int> said = facts_.canary_tokens;
    if (said.size() > kGreedyTokens) said.resize(kGreedyTokens);
    if (!facts_.returns_ids || said.empty()) {
      note("P5", "not asked", "no ids were generated");
      return {};
    }
    std::vector<int> tokens = prompt_;
    tokens.insert(tokens.end(), said.begin(), said.end());
    NB_TRY(const auto scores,
           score_prompt(connection_, wire_, *facts_.dialect, tokens, tokenizer_));
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

  // Rung 3: how can the answer be held to letters?
  Result<void> ask_letters() {
    std::vector<int> letters;
    for (const char* letter : {"A", "B"})
      if (const auto ids = tokenizer_.encode(letter); ids.size() == 1)
        letters.push_back(ids.front());
    if (letters.size() != 2) {
      facts_.why_no_letters = "letters are no single tokens";
      return {};
    }
    Wire::Generation allowed, biased;
    allowed.allowed_tokens = biased.biased_tokens = letters;
    for (const auto& [way, generation] : {std::pair(LetterWay::kAllowedTokens, allowed),
                                          std::pair(LetterWay::kLogitBias, biased)}) {
      NB_TRY(const RemoteAnswer answer, question(fixed(generation)));
      if (!answer.is_ok()) continue;
      const auto json = parse_answer(answer.body);
      const auto generated = json ? parse_generated(*json) : Result<Generated>(run_error(""));
      if (!generated) continue;
      const std::vector<int> ids =
          generated->tokens ? *generated->tokens : tokenizer_.encode(generated->text);
      if (ids.empty() || std::ranges::find(letters, ids.front()) == letters.end()) continue;
      facts_.letters = way;
      return {};
    }
    for (const int top : kTopTokens) {
      Wire::Generation likely;
      likely.top = top;
      NB_TRY(const RemoteAnswer answer, question(fixed(likely)));
      if (!answer.is_ok()) continue;
      const auto json = parse_answer(answer.body);
      const auto generated = json ? parse_generated(*json) : Result<Generated>(run_error(""));
      if (!generated || generated->first_top.size() < 2) continue;
      facts_.letters = LetterWay::kTopLogProbs;
      facts_.most_top = top;
      return {};
    }
    facts_.why_no_letters =
        "it neither holds an answer to given tokens nor tells the likeliest ones";
    return {};
  }

  // P6: one prompt alone, then among others of other lengths.
  Result<void> measure_noise() {
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

  // P8: two servers of one model may disagree about it.
  Result<void> look_at_template() {
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

  Result<void> add_noise(const RemoteCall& call, const RemoteAnswer& answer) {
    NB_TRY(const Json json, connection_.json_of(call, answer));
    ServerNoise& noise = facts_.noise;
    ++noise.compared;
    if (!facts_.dialect) {
      const auto generated = parse_generated(json);
      if (!generated)
        return run_error(fmt::format("{} answers with {}", who(), generated.error().message));
      const auto tokens =
          generated->tokens ? *generated->tokens : tokenizer_.encode(generated->text);
      noise.flips += tokens == facts_.canary_tokens ? 0 : 1;
      if (noise.compared == 1) answered_ = generated->log_probs;
      const std::vector<float>& now = generated->log_probs;
      if (tokens != facts_.canary_tokens || now.empty() || now.size() != answered_.size())
        return {};
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

  void see_move(float now, float first) {
    double& largest = facts_.noise.max_abs_log_prob;
    largest = std::max(largest, std::fabs(static_cast<double>(now) - static_cast<double>(first)));
  }

  void say_noise() {
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

  Connection& connection_;
  Wire& wire_;
  const Tokenizer& tokenizer_;
  const ServedTokenizer* served_;
  ServerFacts facts_;
  std::vector<int> prompt_;
  std::vector<TokenScore> first_;
  std::vector<float> answered_;  // log-probabilities of the first answer
};

}  // namespace

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
    generation.max_tokens = kCanaryTokens;
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
