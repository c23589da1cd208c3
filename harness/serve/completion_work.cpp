#include "harness/serve/completion_work.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <utility>

namespace nb {

CompletionWork::CompletionWork(CompletionRequest request, const Served& served,
                               const HttpPeer& peer)
    : request_(std::move(request)),
      served_(served),
      peer_(peer),
      tokenizer_(served.model->tokenizer()),
      prompts_(request_.prompts.size()) {
  if (!request_.has_seed && request_.max_tokens > 0 && request_.sampling.temperature > 0) {
    std::random_device device;
    request_.sampling.seed = device() & 0x7fffffffU;  // any client's integers hold it
  }
}

void CompletionWork::ask() {
  for (std::size_t p = 0; p < prompts_.size(); ++p) {
    if (request_.scores_prompt()) ask_scores(p);
    if (request_.max_tokens > 0 && !gets_token_by_score()) ask_samples(p);
  }
}

Engine::IsWanted CompletionWork::is_wanted() const {
  return [&peer = peer_] { return !peer.is_gone(); };
}

bool CompletionWork::gets_token_by_score() const {
  const GenerateRequest& sampling = request_.sampling;
  SamplingOptions rest = sampling.sampling;  // of these a greedy answer does not depend on
  rest.top_p = 1;
  rest.min_p = 0;
  rest.ties = TopKTies::kLowestId;
  return request_.scores_prompt() && request_.max_tokens == 1 && sampling.temperature == 0 &&
         rest.is_off();
}

void CompletionWork::ask_scores(std::size_t p) {
  ScoreRequest wish;
  wish.tokens = request_.prompts[p].tokens;
  const std::size_t size = wish.tokens.size();
  wish.start = std::clamp<std::size_t>(request_.first_scored, 1, size);
  wish.end = size;
  wish.top = std::max(request_.prompt_logprobs.value_or(0), request_.logprobs.value_or(0));
  if (gets_token_by_score()) {
    wish.tokens.push_back(0);  // any: only what stands before it counts
    ++wish.end;
    wish.top = std::max(wish.top, 1);
  }
  prompts_[p].scores = served_.engine->score(std::move(wish), is_wanted());
}

void CompletionWork::ask_samples(std::size_t p) {
  GenerateRequest wish = request_.sampling;
  wish.prompt = request_.prompts[p].tokens;
  wish.num_samples = request_.n;
  wish.max_tokens = request_.max_tokens;
  wish.log_probs = request_.logprobs.has_value();
  wish.top = request_.logprobs.value_or(0);
  auto samples = std::make_shared<std::vector<Sample>>(static_cast<std::size_t>(request_.n));
  for (Sample& sample : *samples) sample.text = new_text();
  prompts_[p].samples = samples;
  const bool tells = request_.streams;
  wish.on_token = [samples, p, tells, keeps = wish.log_probs,
                   channel = channel_](const NewToken& token) {
    Sample& sample = (*samples)[static_cast<std::size_t>(token.sample)];
    std::string text = sample.text->push(token.token);
    sample.shown += text;
    const bool stops = sample.text->is_stopped();
    if (tells && (keeps || !text.empty())) {
      ScoredToken scored{token.token, std::nullopt, {}};
      if (keeps) scored = {token.token, token.log_prob, {token.top.begin(), token.top.end()}};
      channel->put({p, token.sample, std::move(text), std::move(scored)});
    }
    return stops ? AfterToken::kStop : AfterToken::kContinue;
  };
  std::function<void()> on_done;
  if (tells) on_done = [p, channel = channel_] { channel->put({p, -1}); };
  prompts_[p].pending = served_.engine->generate(std::move(wish), is_wanted(), std::move(on_done));
}

std::unique_ptr<AnswerText> CompletionWork::new_text() const {
  return std::make_unique<AnswerText>(tokenizer_, request_.stop, request_.includes_stop,
                                      request_.skips_specials);
}

Result<void> CompletionWork::wait_scores(std::size_t p) {
  Prompt& prompt = prompts_[p];
  if (!prompt.scores) return {};
  NB_TRY(ScoreResult result, prompt.scores->wait());
  prompt.simulated = prompt.scores->simulated();
  const auto& [tokens, hidden] = request_.prompts[p];
  const std::size_t first = std::clamp<std::size_t>(request_.first_scored, 1, tokens.size());
  // An echo tells of every token.
  for (std::size_t i = request_.echo ? hidden : std::max(first, hidden); i < tokens.size(); ++i) {
    ScoredToken scored{tokens[i], std::nullopt, {}};
    if (i >= first) {
      scored.log_prob = result.log_probs[i - first];
      if (!result.top.empty()) scored.top = std::move(result.top[i - first]);
    }
    prompt.scored.push_back(std::move(scored));
  }
  // No likely one is of the tokenizer's: the model's vocabulary is padded.
  if (gets_token_by_score() && !take_token(p, result)) ask_samples(p);
  return {};
}

// The answer of one token, out of the scores behind the prompt; false: it is not among them.
bool CompletionWork::take_token(std::size_t p, const ScoreResult& result) {
  GeneratedSample answer;
  answer.stop = StopReason::kMaxTokens;
  std::vector<TokenLogProb> top;
  if (!result.top.empty()) top = result.top.back();
  const bool is_dry = top.empty();  // a device that does not compute: token 0
  std::erase_if(top, [&](const auto& one) { return one.token >= tokenizer_.vocab_size(); });
  if (top.empty() && !is_dry) return false;
  const TokenLogProb likeliest = is_dry ? TokenLogProb{} : top.front();
  const auto& stops = request_.sampling.stop_tokens;
  if (std::ranges::find(stops, likeliest.token) != stops.end()) {
    answer.stop = StopReason::kStopToken;
    answer.stop_token = likeliest.token;
  } else {
    answer.tokens = {likeliest.token};
    answer.mask = {1};
    if (request_.logprobs) {
      answer.log_probs = {likeliest.log_prob};
      answer.top = {top};
    }
  }
  auto samples = std::make_shared<std::vector<Sample>>(static_cast<std::size_t>(request_.n));
  for (Sample& sample : *samples) {
    sample.text = new_text();
    sample.result = answer;
    for (const int token : answer.tokens) sample.shown += sample.text->push(token);
  }
  prompts_[p].samples = std::move(samples);
  return true;
}

Result<void> CompletionWork::wait_samples(std::size_t p) {
  Prompt& prompt = prompts_[p];
  if (prompt.pending) {
    NB_TRY(GenerateResult result, prompt.pending->wait());
    const SimulatedTime simulated = prompt.pending->simulated();
    prompt.simulated.prefill_ns += simulated.prefill_ns;
    prompt.simulated.decode_ns += simulated.decode_ns;
    prompt.simulated.batch = simulated.batch;
    for (std::size_t s = 0; s < result.samples.size(); ++s)
      (*prompt.samples)[s].result = std::move(result.samples[s]);
    prompt.pending.reset();
  } else if (!prompt.samples) {  // nothing but the prompt was wished
    prompt.samples = std::make_shared<std::vector<Sample>>(static_cast<std::size_t>(request_.n));
    for (Sample& sample : *prompt.samples) sample.text = new_text();
  }
  for (Sample& sample : *prompt.samples) {
    if (sample.result.stop == StopReason::kNotFiniteLogits)
      return run_error("the model's logits are not finite: it has nothing to say");
    sample.shown += sample.text->finish();
    completion_tokens_ += std::ssize(sample.result.tokens);
  }
  return {};
}

}  // namespace nb
