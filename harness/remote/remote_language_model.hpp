// A LanguageModel that is a server: each request is one HTTP request, many under way, answers
// placed by request. What the ladder allows is chosen before by use(); evaluators see none of it.
// In a chat (ServerFacts::by_chat) the prompt's special tokens say who speaks, and its messages are
// sent; the answer is a text, behind "</think>" where the model thinks.
// The calculator and the rules of a sample are ours (model/engine/sample_state.hpp). One caller at
// a time; connection, facts, tokenizer and what it stands on outlive this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/remote/connection.hpp"
#include "harness/remote/method.hpp"
#include "harness/remote/served_tokenizer.hpp"
#include "harness/remote/server_facts.hpp"
#include "harness/remote/wire.hpp"
#include "model/engine/language_model.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

// Of all that was asked so far.
struct RemoteCounts {
  std::int64_t scored_tokens = 0;  // of prompts, each a full prefill
  std::int64_t generated_tokens = 0;
  std::int64_t ties = 0;    // scored tokens that another one equals, and is the likeliest too
  std::int64_t floors = 0;  // log-probabilities at the server's floor for "impossible"
};

class RemoteLanguageModel : public LanguageModel {
 public:
  RemoteLanguageModel(Connection& connection, const Wire& wire, const ServerFacts& facts,
                      const Tokenizer& tokenizer, const ServedTokenizer* served = nullptr);

  // Of the requests to come.
  void use(ScoringMethod method) { method_ = method; }

  // Both throw ModelFailure with what was answered; nothing of a call behind which another model
  // answers the canary, or texts have other ids.
  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override;
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override;
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::int64_t context_length() const override { return facts_.context_length; }

  const RemoteCounts& counts() const { return counts_; }

 private:
  struct Sample;
  struct Letters;
  std::vector<std::optional<ScoreResult>> by_log_probs(std::span<const ScoreRequest> requests,
                                                       std::string& trouble);
  std::vector<std::optional<ScoreResult>> by_greedy(std::span<const ScoreRequest> requests,
                                                    std::string& trouble);
  std::vector<std::optional<ScoreResult>> by_letters(std::span<const ScoreRequest> requests,
                                                     std::string& trouble);
  RemoteCall ask(std::span<const int> prompt, const Wire::Generation& generation) const;
  void ask_round(std::vector<Sample*>& open, std::string& trouble);
  void check_same_model(const std::string& trouble);

  Connection& connection_;
  const Wire& wire_;
  const ServerFacts& facts_;
  const Tokenizer& tokenizer_;
  const ServedTokenizer* served_;
  ScoringMethod method_ = ScoringMethod::kPromptLogprobs;
  RemoteCounts counts_;
};

}  // namespace nb
