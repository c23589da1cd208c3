// What a parsed request asks of an engine, and what came of it: scores of its prompts, samples with
// their texts. Not here: the words of the answer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/http/server.hpp"
#include "harness/serve/answer_text.hpp"
#include "harness/serve/completion.hpp"
#include "harness/serve/completion_request.hpp"
#include "harness/serve/engine.hpp"
#include "harness/serve/log_probs_json.hpp"

namespace nb {

// Pieces of streamed answers on their way from the engine's thread to the connection's.
class AnswerChannel {
 public:
  struct Event {
    std::size_t prompt = 0;
    int sample = -1;  // -1: all samples of the prompt are done
    std::string text = {};
    ScoredToken token = {};
  };
  void put(Event event) {
    {
      const std::scoped_lock lock(mutex_);
      events_.push_back(std::move(event));
    }
    changed_.notify_one();
  }
  Event take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !events_.empty(); });
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
};

class CompletionWork {
 public:
  struct Sample {
    std::unique_ptr<AnswerText> text;
    std::string shown;
    GeneratedSample result;
  };
  struct Prompt {
    std::unique_ptr<PendingScore> scores;
    std::unique_ptr<PendingSamples> pending;
    std::vector<ScoredToken> scored;                    // the last ones of the prompt
    std::shared_ptr<std::vector<Sample>> samples = {};  // the engine's thread writes until it ends
    SimulatedTime simulated;
  };

  // `served` and `peer` must outlive this.
  CompletionWork(CompletionRequest request, const Served& served, const HttpPeer& peer);

  // Everything is asked before anything is waited for.
  void ask();
  // Both once for each prompt, in this order; then prompt(p) is whole.
  Result<void> wait_scores(std::size_t p);
  Result<void> wait_samples(std::size_t p);
  // Of a request that streams: what comes next.
  AnswerChannel::Event next() { return channel_->take(); }

  // One greedy token behind a scored prompt is the likeliest one there: one row more to score
  // instead of the prompt once more.
  bool gets_token_by_score() const;

  const CompletionRequest& request() const { return request_; }
  const Prompt& prompt(std::size_t p) const { return prompts_[p]; }
  const Sample& sample(std::size_t p, int s) const {
    return (*prompts_[p].samples)[static_cast<std::size_t>(s)];
  }
  std::size_t size() const { return prompts_.size(); }  // prompts
  std::int64_t completion_tokens() const { return completion_tokens_; }

 private:
  Engine::IsWanted is_wanted() const;
  void ask_scores(std::size_t p);
  void ask_samples(std::size_t p);
  std::unique_ptr<AnswerText> new_text() const;
  bool take_token(std::size_t p, const ScoreResult& result);

  CompletionRequest request_;
  const Served& served_;
  const HttpPeer& peer_;
  const Tokenizer& tokenizer_;
  std::vector<Prompt> prompts_;
  std::shared_ptr<AnswerChannel> channel_ = std::make_shared<AnswerChannel>();
  std::int64_t completion_tokens_ = 0;
};

}  // namespace nb
