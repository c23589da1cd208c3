// One thread that asks a model for many: requests queue in the order they come, and all that wait
// and are of one kind go into one call of the model, up to a number of samples. What a request gets
// depends on itself alone (language_model.hpp promises it); when it gets it depends on the others.
// Not here: texts, HTTP. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/base/result.hpp"
#include "model/engine/language_model.hpp"

namespace nb {

// Simulated time of one request on an emulated device, with those that it ran beside.
struct SimulatedTime {
  std::int64_t prefill_ns = 0;  // until its first token, or all of a score
  std::int64_t decode_ns = 0;   // from its first token to its last
  std::int64_t batch = 0;       // samples and scores of the same call
};

// What waits in the engine for one request. Owned by who asked; when it is destroyed the request
// is no longer wanted: its place is free after the token under way.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual SimulatedTime simulated() const = 0;  // once it is done
};
class PendingScore : public Pending {
 public:
  // Error kRun: the model failed, or the engine ended.
  virtual Result<ScoreResult> wait() = 0;
};
class PendingSamples : public Pending {
 public:
  virtual Result<GenerateResult> wait() = 0;
};

struct EngineOptions {
  std::int64_t max_samples = 64;
  // Simulated clock of the model's device; none: there is none.
  std::function<std::int64_t()> device_time_ns = {};
};

class Engine {
 public:
  // The model must outlive this, and is asked by nobody else meanwhile.
  explicit Engine(LanguageModel& model, EngineOptions options = {});
  ~Engine();  // stop()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Asked on the engine's thread before a call and between tokens; false: nobody waits any more.
  using IsWanted = std::function<bool()>;

  // Both requests must pass check_request. The request's on_token runs on the engine's thread.
  std::unique_ptr<PendingScore> score(ScoreRequest request, IsWanted is_wanted = {});
  // on_done: called on the engine's thread when wait() has its answer.
  std::unique_ptr<PendingSamples> generate(GenerateRequest request, IsWanted is_wanted = {},
                                           std::function<void()> on_done = {});

  // Ends what runs at its next token and answers what waits with an error.
  void stop();

  const LanguageModel& model() const { return model_; }

  struct Stats {
    std::int64_t waiting = 0, running = 0;  // requests
    std::int64_t requests = 0, cancelled = 0, failed = 0;
    std::int64_t calls = 0;    // of the model
    std::int64_t largest = 0;  // samples and scores in one call
    std::int64_t scored_tokens = 0, generated_tokens = 0, prompt_tokens = 0;
    std::int64_t simulated_ns = 0;
  };
  Stats stats() const;

 private:
  struct Job;
  struct Handle;
  struct ScoreHandle;
  struct SamplesHandle;

  std::shared_ptr<Job> add(std::shared_ptr<Job> job);
  void run();
  std::vector<std::shared_ptr<Job>> take_batch(std::unique_lock<std::mutex>& lock);
  void answer(const std::vector<std::shared_ptr<Job>>& batch);
  void ask_model(const std::vector<std::shared_ptr<Job>>& batch);
  std::int64_t device_time() const;

  LanguageModel& model_;
  EngineOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::shared_ptr<Job>> waiting_;
  Stats stats_;
  bool ended_ = false;
  // Of the engine's thread: who was answered or waited when the last call ended will ask again
  // soon, and shares prompts with the others if all go into one call.
  std::size_t expected_ = 0;
  std::chrono::duration<double> patience_{0};
  std::thread thread_;
};

}  // namespace nb
