// The rules of one sample while it grows: forced tokens of the tool, what ends it, the limit.
// nanochat's engine.py. Knows nothing of models or caches; the request and tokenizer outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "model/engine/generate_request.hpp"

namespace nb {

class Tokenizer;

// stop_tokens of the request, or the usual ones: <|assistant_end|> and <|bos|>, those that exist.
std::vector<int> ids_that_end(const GenerateRequest& request, const Tokenizer& tokenizer);

// A token that the model chose, with what the request wishes to know of it.
struct ChosenToken {
  int token = 0;
  float log_prob = 0;
  std::vector<TokenLogProb> top = {};
};

class SampleState {
 public:
  // number: of the sample in its request.
  SampleState(const GenerateRequest& request, const Tokenizer& tokenizer, int number = 0);

  // Appends the token that the model chose and whatever the rules force behind it. Returns how many
  // were appended (0 when the token ends the sample). NB_CHECK: not ended.
  std::size_t accept(ChosenToken chosen);
  // Ends the sample for a reason that these rules do not see.
  void end(StopReason reason);
  // The caller ends it behind its first `tokens` tokens.
  void cut(std::size_t tokens);

  bool ended() const { return ended_; }
  const GeneratedSample& sample() const { return sample_; }
  GeneratedSample take() { return std::move(sample_); }

 private:
  void append(ChosenToken chosen, bool is_forced);
  void watch(int token);
  void run_tool();

  const GenerateRequest& request_;
  const Tokenizer& tokenizer_;
  std::int64_t max_tokens_;
  std::vector<int> stop_tokens_;
  int python_start_, python_end_, output_start_, output_end_;  // -1: not there
  std::deque<int> forced_;
  bool in_python_ = false;
  std::vector<int> expression_;
  GeneratedSample sample_;
  bool ended_ = false;
};

}  // namespace nb
