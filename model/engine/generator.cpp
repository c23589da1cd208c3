#include "model/engine/generator.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/engine/language_model.hpp"
#include "model/engine/log_probs.hpp"
#include "model/engine/sample_state.hpp"
#include "model/engine/sampler.hpp"
#include "model/kernels/reduce.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {
namespace {

constexpr int kNothing = -1;                   // chosen where the logits are not finite
constexpr std::int64_t kCachePositions = 128;  // of the next piece of a running sample's cache

using SharedCaches = std::vector<std::shared_ptr<const KeyValueCache>>;

// A request whose prompt is being computed.
struct Prompt {
  std::size_t request = 0;
  std::shared_ptr<KeyValueCache> cache;
};

// A sample whose first token is known.
struct Running {
  std::size_t request;
  int number;
  SampleRandom random;
  SampleState state;
  SharedCaches prefix;                 // pieces that are done, the prompt first
  std::unique_ptr<KeyValueCache> own;  // the piece that is being filled
  std::int64_t position;               // positions in all caches
  std::vector<int> pending;            // tokens that are in none
};

// A forward pass in the making: its chunks, and who waits for which row of logits.
struct Pass {
  std::vector<Chunk> chunks;
  std::int64_t rows = 0;
  std::vector<std::int64_t> wanted;
  std::vector<Running*> waiting;  // for wanted[i]; null: the samples of the next done prompt
  std::vector<std::size_t> done;  // requests whose prompts this pass completes, in order

  void add(Chunk chunk) {
    rows += std::ssize(chunk.tokens);
    chunks.push_back(std::move(chunk));
  }
  void want_last(Running* sample) {
    wanted.push_back(rows - 1);
    waiting.push_back(sample);
  }
};

class Generation {
 public:
  Generation(IncrementalModel& decoder, const Tokenizer& tokenizer,
             std::span<const GenerateRequest> requests, const GenerateBatching& batching)
      : decoder_(decoder),
        tokenizer_(tokenizer),
        requests_(requests),
        batching_(batching),
        results_(requests.size()) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      check_request(requests[i], decoder.context_length());
      rules_.push_back(rule_of(requests[i]));
      results_[i].samples.resize(static_cast<std::size_t>(requests[i].num_samples));
    }
  }

  std::vector<GenerateResult> run() {
    for (admit(); !running_.empty() || !prompts_.empty(); admit()) {
      Pass pass;
      add_running(pass);
      add_prompts(pass);
      go_on(pass, forward(pass));
    }
    return std::move(results_);
  }
  const GenerateStats& stats() const { return stats_; }

 private:
  SamplingRule rule_of(const GenerateRequest& request) const {
    SamplingRule rule{request.temperature, request.top_k, request.sampling};
    if (rule.options.min_tokens > 0 && rule.options.min_tokens_ids.empty())
      rule.options.min_tokens_ids = ids_that_end(request, tokenizer_);
    const auto trouble = trouble_with(rule.options, tokenizer_.vocab_size());
    NB_CHECK(!trouble, "[generate] {}", *trouble);
    return rule;
  }

  // Fills the free places: samples whose prompt is done first, then waiting requests.
  void admit() {
    while (!ready_.empty() && std::ssize(running_) < batching_.max_samples) {
      running_.push_back(std::move(ready_.front()));
      ready_.pop_front();
    }
    while (next_request_ < requests_.size() &&
           std::ssize(running_) + std::ssize(prompts_) < batching_.max_samples) {
      if (requests_[next_request_].max_tokens > 0) prompts_.push_back({next_request_, nullptr});
      ++next_request_;
    }
  }

  void add_running(Pass& pass) {
    for (const auto& sample : running_) {
      const auto count = std::ssize(sample->pending);
      if (sample->own == nullptr || sample->own->size() + count > sample->own->capacity()) {
        if (sample->own != nullptr) sample->prefix.push_back(std::move(sample->own));
        sample->own = decoder_.new_cache(sample->position, std::max(kCachePositions, count));
      }
      pass.add({.tokens = sample->pending,
                .first_position = sample->position,
                .prefix = sample->prefix,
                .own = sample->own.get()});
      pass.want_last(sample.get());
    }
    stats_.most_running = std::max(stats_.most_running, std::ssize(running_));
  }

  void add_prompts(Pass& pass) {
    for (Prompt& prompt : prompts_) {
      const std::int64_t room = batching_.max_tokens - pass.rows;
      if (room <= 0 && !pass.chunks.empty()) break;
      const std::span<const int> tokens = requests_[prompt.request].prompt;
      if (prompt.cache == nullptr) prompt.cache = decoder_.new_cache(0, std::ssize(tokens));
      const std::int64_t before = prompt.cache->size();
      const std::int64_t count =
          std::min(std::ssize(tokens) - before, std::max<std::int64_t>(room, 1));
      pass.add({.tokens = tokens.subspan(static_cast<std::size_t>(before),
                                         static_cast<std::size_t>(count)),
                .first_position = before,
                .own = prompt.cache.get()});
      if (before + count < std::ssize(tokens)) break;
      pass.want_last(nullptr);
      pass.done.push_back(prompt.request);
    }
  }

  // What is chosen at each wanted row: a token, or of a prompt one for each sample. kNothing: the
  // logits are not finite.
  std::vector<std::vector<ChosenToken>> forward(const Pass& pass) {
    std::vector<std::vector<ChosenToken>> chosen(pass.wanted.size());
    std::vector<std::size_t> request_of;  // of each wanted row
    for (std::size_t i = 0, done = 0; i < pass.waiting.size(); ++i) {
      const Running* sample = pass.waiting[i];
      request_of.push_back(sample != nullptr ? sample->request : pass.done[done++]);
      chosen[i].resize(
          sample != nullptr ? 1 : static_cast<std::size_t>(requests_[request_of[i]].num_samples));
    }
    decoder_.forward(pass.chunks, pass.wanted, [&](std::int64_t first, ConstMatrix logits) {
      const auto width =
          static_cast<std::size_t>(std::min<std::int64_t>(logits.cols, tokenizer_.vocab_size()));
      parallel_for(static_cast<std::size_t>(logits.rows), 1, [&](std::size_t row) {
        const std::size_t i = static_cast<std::size_t>(first) + row;
        const std::span z(logits.row(static_cast<std::int64_t>(row)), width);
        choose(z, request_of[i], pass.waiting[i], chosen[i]);
        tell_log_probs({z.data(), static_cast<std::size_t>(logits.cols)}, requests_[request_of[i]],
                       chosen[i]);
      });
    });
    ++stats_.passes;
    stats_.tokens += pass.rows;
    stats_.logit_rows += std::ssize(pass.wanted);
    if (!pass.wanted.empty()) {
      static_cast<void>(decoder_.device().run({.kind = OpKind::kSample,
                                               .label = "sample",
                                               .rows = std::ssize(pass.wanted),
                                               .vocab = decoder_.vocab_size()},
                                              [] {}));
    }
    return chosen;
  }

  void choose(std::span<const float> logits, std::size_t request, const Running* sample,
              std::vector<ChosenToken>& chosen) const {
    const GenerateRequest& wish = requests_[request];
    const SamplingRule& rule = rules_[request];
    if (!kernels::all_finite(logits)) {
      std::ranges::fill(chosen, ChosenToken{kNothing});
      return;
    }
    if (sample != nullptr) {
      const std::vector<int>& tokens = sample->state.sample().tokens;
      chosen[0].token = sample_token(logits, rule, sample->random.uniform(std::ssize(tokens)),
                                     {wish.prompt, tokens});
      return;
    }
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      const bool copies = s > 0 && (wish.shares_first_token || wish.temperature == 0);
      const SampleRandom random(wish.seed, static_cast<int>(s));
      chosen[s].token = copies ? chosen[0].token
                               : sample_token(logits, rule, random.uniform(0), {wish.prompt, {}});
    }
  }

  // logits: of all ids of the model.
  void tell_log_probs(std::span<const float> logits, const GenerateRequest& wish,
                      std::vector<ChosenToken>& chosen) const {
    if ((!wish.log_probs && wish.top == 0) || chosen[0].token == kNothing) return;
    std::vector<int> targets;
    for (const ChosenToken& one : chosen) targets.push_back(one.token);
    const auto pointwise = decoder_.device().numerics().pointwise_policy();
    const std::vector<float> log_probs = log_probs_of(logits, targets, pointwise);
    std::vector<TokenLogProb> top;
    if (wish.top > 0) top = most_likely(logits, tokenizer_.vocab_size(), wish.top, pointwise);
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      chosen[s].log_prob = log_probs[s];
      chosen[s].top = top;
    }
  }

  void go_on(const Pass& pass, std::vector<std::vector<ChosenToken>> chosen) {
    for (std::size_t i = 0; i < pass.waiting.size(); ++i) {
      if (pass.waiting[i] != nullptr) {
        Running& sample = *pass.waiting[i];
        sample.position += std::ssize(sample.pending);
        accept(sample, std::move(chosen[i][0]));
      } else {
        start_samples(std::move(chosen[i]));
      }
    }
    std::erase_if(running_, [](const auto& sample) { return sample->state.ended(); });
  }

  // The first prompt is done.
  void start_samples(std::vector<ChosenToken> first_tokens) {
    const Prompt prompt = std::move(prompts_.front());
    prompts_.pop_front();
    const GenerateRequest& request = requests_[prompt.request];
    for (std::size_t s = 0; s < first_tokens.size(); ++s) {
      const int number = static_cast<int>(s);
      auto sample = std::make_unique<Running>(Running{prompt.request,
                                                      number,
                                                      SampleRandom(request.seed, number),
                                                      SampleState(request, tokenizer_, number),
                                                      {prompt.cache},
                                                      nullptr,
                                                      std::ssize(request.prompt),
                                                      {}});
      accept(*sample, std::move(first_tokens[s]));
      if (!sample->state.ended()) ready_.push_back(std::move(sample));
    }
  }

  void accept(Running& sample, ChosenToken chosen) {
    if (chosen.token == kNothing) sample.state.end(StopReason::kNotFiniteLogits);
    const auto count = static_cast<std::ptrdiff_t>(
        sample.state.ended() ? std::size_t{0} : sample.state.accept(std::move(chosen)));
    const GeneratedSample& grown = sample.state.sample();
    for (auto i = grown.tokens.size() - static_cast<std::size_t>(count); i < grown.tokens.size();
         ++i) {
      if (hear(sample, i) == AfterToken::kContinue) continue;
      sample.state.cut(i + 1);
      return take(sample);
    }
    sample.pending.assign(grown.tokens.end() - count, grown.tokens.end());
    if (!sample.state.ended() && sample.position + count > decoder_.context_length()) {
      sample.state.end(StopReason::kContext);
    }
    if (sample.state.ended()) take(sample);
  }

  AfterToken hear(const Running& sample, std::size_t token) const {
    const auto& on_token = requests_[sample.request].on_token;
    if (!on_token) return AfterToken::kContinue;
    const GeneratedSample& grown = sample.state.sample();
    NewToken heard{sample.number, grown.tokens[token], grown.mask[token] != 0};
    if (!grown.log_probs.empty()) heard.log_prob = grown.log_probs[token];
    if (!grown.top.empty()) heard.top = grown.top[token];
    return on_token(heard);
  }

  void take(Running& sample) {
    results_[sample.request].samples[static_cast<std::size_t>(sample.number)] = sample.state.take();
  }

  IncrementalModel& decoder_;
  const Tokenizer& tokenizer_;
  std::span<const GenerateRequest> requests_;
  GenerateBatching batching_;
  std::vector<SamplingRule> rules_;  // of each request
  std::vector<GenerateResult> results_;
  GenerateStats stats_;

  std::size_t next_request_ = 0;                // of those that wait
  std::deque<Prompt> prompts_;                  // in the order of the requests
  std::deque<std::unique_ptr<Running>> ready_;  // their prompt is done, no place yet
  std::vector<std::unique_ptr<Running>> running_;
};

}  // namespace

std::vector<GenerateResult> generate(IncrementalModel& decoder, const Tokenizer& tokenizer,
                                     std::span<const GenerateRequest> requests,
                                     const GenerateBatching& batching, GenerateStats* stats) {
  NB_CHECK(batching.max_samples >= 1 && batching.max_tokens >= 1,
           "[generate] {} samples, {} tokens at a time", batching.max_samples, batching.max_tokens);
  Generation generation(decoder, tokenizer, requests, batching);
  std::vector<GenerateResult> results = generation.run();
  if (stats != nullptr) *stats = generation.stats();
  return results;
}

}  // namespace nb
