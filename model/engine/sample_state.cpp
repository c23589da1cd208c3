#include "model/engine/sample_state.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/check.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

std::vector<int> ids_that_end(const GenerateRequest& request, const Tokenizer& tokenizer) {
  if (!request.stop_tokens.empty()) return request.stop_tokens;
  std::vector<int> ids = {tokenizer.special("<|assistant_end|>"), tokenizer.bos()};
  std::erase(ids, -1);
  return ids;
}

SampleState::SampleState(const GenerateRequest& request, const Tokenizer& tokenizer, int number)
    : request_(request),
      tokenizer_(tokenizer),
      max_tokens_(request.sample_tokens.empty()
                      ? request.max_tokens
                      : request.sample_tokens[static_cast<std::size_t>(number)]),
      stop_tokens_(ids_that_end(request, tokenizer)),
      python_start_(tokenizer.special("<|python_start|>")),
      python_end_(tokenizer.special("<|python_end|>")),
      output_start_(tokenizer.special("<|output_start|>")),
      output_end_(tokenizer.special("<|output_end|>")) {
  if (max_tokens_ == 0) end(StopReason::kMaxTokens);
}

std::size_t SampleState::accept(ChosenToken chosen) {
  NB_CHECK(!ended_, "[generate] the sample has ended");
  const std::size_t before = sample_.tokens.size();
  append(std::move(chosen), false);
  while (!ended_ && !forced_.empty()) {
    const int token = forced_.front();
    forced_.pop_front();
    append({.token = token}, true);
  }
  return sample_.tokens.size() - before;
}

void SampleState::end(StopReason reason) {
  ended_ = true;
  sample_.stop = reason;
}

void SampleState::cut(std::size_t tokens) {
  sample_.tokens.resize(tokens);
  sample_.mask.resize(tokens);
  if (!sample_.log_probs.empty()) sample_.log_probs.resize(tokens);
  if (!sample_.top.empty()) sample_.top.resize(tokens);
  end(StopReason::kCaller);
}

void SampleState::append(ChosenToken chosen, bool is_forced) {
  const int token = chosen.token;
  if (std::ranges::find(stop_tokens_, token) != stop_tokens_.end()) {
    sample_.stop_token = token;
    return end(StopReason::kStopToken);
  }
  sample_.tokens.push_back(token);
  sample_.mask.push_back(is_forced ? 0 : 1);
  if (request_.log_probs || request_.top > 0) sample_.log_probs.push_back(chosen.log_prob);
  if (request_.top > 0) sample_.top.push_back(std::move(chosen.top));
  watch(token);
  if (std::ssize(sample_.tokens) >= max_tokens_) end(StopReason::kMaxTokens);
}

void SampleState::watch(int token) {
  if (!request_.tools || token < 0) return;
  if (token == python_start_) {
    in_python_ = true;
    expression_.clear();
  } else if (token == python_end_ && in_python_) {
    in_python_ = false;
    if (!expression_.empty()) run_tool();
    expression_.clear();
  } else if (in_python_) {
    expression_.push_back(token);
  }
}

void SampleState::run_tool() {
  if (output_start_ < 0 || output_end_ < 0) return;
  const std::string text = tokenizer_.decode(expression_);
  const std::optional<std::string> result =
      request_.tool ? request_.tool(text) : use_calculator(text, request_.calculator);
  if (!result) return;
  forced_.push_back(output_start_);
  const std::vector<int> tokens = tokenizer_.encode(*result);
  forced_.insert(forced_.end(), tokens.begin(), tokens.end());
  forced_.push_back(output_end_);
}

}  // namespace nb
