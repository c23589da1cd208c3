#include "harness/serve/engine.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

namespace nb {
namespace {

// How long a call waits for those that were there at the last one, of the time that it took.
constexpr double kShareOfWaiting = 0.1;
constexpr std::chrono::duration<double> kLeastPatience{1e-3}, kMostPatience{5e-3};

}  // namespace

struct Engine::Job {
  std::optional<ScoreRequest> score;
  std::optional<GenerateRequest> samples;
  std::function<AfterToken(const NewToken&)> on_token;  // of who asked
  std::function<void()> on_done;
  std::int64_t size = 1;  // samples

  std::mutex mutex;
  std::condition_variable changed;
  IsWanted is_wanted;  // guarded: who asked may be gone
  bool is_dropped = false, is_done = false;
  std::string failure;
  ScoreResult scores;
  GenerateResult generated;

  // Of the engine's thread until it is done.
  SimulatedTime simulated;
  std::int64_t first_token_ns = -1, last_token_ns = -1;
  std::vector<std::size_t> told, heard;  // tokens of each sample, in all tries and in this one
  std::vector<std::size_t> ends;         // where on_token ended it; far away: nowhere

  bool wanted() {
    const std::scoped_lock lock(mutex);
    return !is_dropped && (!is_wanted || is_wanted());
  }
  void finish(std::string why) {
    {
      const std::scoped_lock lock(mutex);
      failure = std::move(why);
      is_done = true;
      is_wanted = {};
    }
    changed.notify_all();
    if (on_done) on_done();
  }
};

struct Engine::Handle {
  explicit Handle(std::shared_ptr<Job> of) : job(std::move(of)) {}
  ~Handle() {
    const std::scoped_lock lock(job->mutex);
    job->is_dropped = true;
    job->is_wanted = {};
  }
  Result<void> wait() const {
    std::unique_lock lock(job->mutex);
    job->changed.wait(lock, [&] { return job->is_done; });
    if (!job->failure.empty()) return run_error(job->failure);
    return {};
  }
  std::shared_ptr<Job> job;
};

struct Engine::ScoreHandle final : PendingScore {
  explicit ScoreHandle(std::shared_ptr<Job> job) : handle(std::move(job)) {}
  Result<ScoreResult> wait() override {
    NB_TRY_VOID(handle.wait());
    return std::move(handle.job->scores);
  }
  SimulatedTime simulated() const override { return handle.job->simulated; }
  Handle handle;
};

struct Engine::SamplesHandle final : PendingSamples {
  explicit SamplesHandle(std::shared_ptr<Job> job) : handle(std::move(job)) {}
  Result<GenerateResult> wait() override {
    NB_TRY_VOID(handle.wait());
    return std::move(handle.job->generated);
  }
  SimulatedTime simulated() const override { return handle.job->simulated; }
  Handle handle;
};

Engine::Engine(LanguageModel& model, EngineOptions options)
    : model_(model), options_(std::move(options)), thread_([this] { run(); }) {}

Engine::~Engine() { stop(); }

std::shared_ptr<Engine::Job> Engine::add(std::shared_ptr<Job> job) {
  {
    const std::scoped_lock lock(mutex_);
    ++stats_.requests;
    if (!ended_) {
      waiting_.push_back(job);
      has_work_.notify_one();
      return job;
    }
  }
  job->finish("the server ends");
  return job;
}

std::unique_ptr<PendingScore> Engine::score(ScoreRequest request, IsWanted is_wanted) {
  check_request(request, model_.context_length());
  auto job = std::make_shared<Job>();
  job->score = std::move(request);
  job->is_wanted = std::move(is_wanted);
  return std::make_unique<ScoreHandle>(add(std::move(job)));
}

std::unique_ptr<PendingSamples> Engine::generate(GenerateRequest request, IsWanted is_wanted,
                                                 std::function<void()> on_done) {
  check_request(request, model_.context_length());
  auto job = std::make_shared<Job>();
  job->size = request.num_samples;
  job->on_token = std::exchange(request.on_token, {});
  job->told.resize(static_cast<std::size_t>(request.num_samples));
  job->ends.resize(job->told.size(), std::numeric_limits<std::size_t>::max());
  job->samples = std::move(request);
  job->is_wanted = std::move(is_wanted);
  job->on_done = std::move(on_done);
  return std::make_unique<SamplesHandle>(add(std::move(job)));
}

void Engine::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  has_work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Engine::Stats Engine::stats() const {
  const std::scoped_lock lock(mutex_);
  Stats stats = stats_;
  stats.waiting = std::ssize(waiting_);
  return stats;
}

std::int64_t Engine::device_time() const {
  return options_.device_time_ns ? options_.device_time_ns() : 0;
}

// In the order they came: the first, and what follows of its kind as far as it fits.
std::vector<std::shared_ptr<Engine::Job>> Engine::take_batch(std::unique_lock<std::mutex>& lock) {
  has_work_.wait_for(lock, patience_, [&] { return ended_ || waiting_.size() >= expected_; });
  std::vector<std::shared_ptr<Job>> batch;
  const bool is_score = waiting_.front()->score.has_value();
  std::int64_t size = 0;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if ((*at)->score.has_value() != is_score) {
      ++at;
      continue;
    }
    if (!batch.empty() && size + (*at)->size > options_.max_samples) break;
    size += (*at)->size;
    batch.push_back(std::move(*at));
    at = waiting_.erase(at);
  }
  stats_.running = std::ssize(batch);
  stats_.largest = std::max(stats_.largest, size);
  return batch;
}

void Engine::run() {
  while (true) {
    std::vector<std::shared_ptr<Job>> batch;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
      if (ended_) break;
      batch = take_batch(lock);
    }
    std::vector<std::shared_ptr<Job>> wanted;
    for (auto& job : batch)
      if (job->wanted())
        wanted.push_back(job);
      else
        job->finish("the client hung up");
    {
      const std::scoped_lock lock(mutex_);
      stats_.cancelled += std::ssize(batch) - std::ssize(wanted);
    }
    const auto begin = std::chrono::steady_clock::now();
    if (!wanted.empty()) answer(wanted);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const std::scoped_lock lock(mutex_);
    expected_ =
        std::min(static_cast<std::size_t>(options_.max_samples), wanted.size() + waiting_.size());
    patience_ = std::clamp(took * kShareOfWaiting, kLeastPatience, kMostPatience);
    stats_.running = 0;
  }
  const std::scoped_lock lock(mutex_);
  for (const auto& job : waiting_) job->finish("the server ends");
  waiting_.clear();
}

// A request that makes the model fail (its memory is simulated, too) fails alone.
void Engine::answer(const std::vector<std::shared_ptr<Job>>& batch) {
  std::string why;
  try {
    ask_model(batch);
    return;
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (batch.size() > 1) {
    for (const auto& job : batch) answer({job});
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    ++stats_.failed;
  }
  batch.front()->finish(why);
}

void Engine::ask_model(const std::vector<std::shared_ptr<Job>>& batch) {
  const std::int64_t begin_ns = device_time();
  std::int64_t scored = 0, generated = 0, prompts = 0, cancelled = 0, size = 0;
  for (const auto& job : batch) size += job->size;
  if (batch.front()->score) {
    std::vector<ScoreRequest> requests;
    for (const auto& job : batch) {
      requests.push_back(*job->score);
      scored += static_cast<std::int64_t>(job->score->end - job->score->start);
      prompts += std::ssize(job->score->tokens);
    }
    std::vector<ScoreResult> results = model_.score(requests);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i]->scores = std::move(results[i]);
      batch[i]->simulated = {device_time() - begin_ns, 0, size};
    }
  } else {
    std::vector<GenerateRequest> requests;
    for (const auto& job : batch) {
      job->heard.assign(job->told.size(), 0);
      job->first_token_ns = job->last_token_ns = -1;
      prompts += std::ssize(job->samples->prompt);
      GenerateRequest& request = requests.emplace_back(*job->samples);
      request.on_token = [this, job = job.get()](const NewToken& token) {
        job->last_token_ns = device_time();
        if (job->first_token_ns < 0) job->first_token_ns = job->last_token_ns;
        const auto sample = static_cast<std::size_t>(token.sample);
        if (++job->heard[sample] > job->told[sample]) {
          ++job->told[sample];
          if (job->on_token && job->on_token(token) == AfterToken::kStop)
            job->ends[sample] = job->heard[sample];
        }
        bool has_ended = false;
        {
          const std::scoped_lock lock(mutex_);
          has_ended = ended_;
        }
        const bool is_last = has_ended || job->heard[sample] >= job->ends[sample];
        return is_last || !job->wanted() ? AfterToken::kStop : AfterToken::kContinue;
      };
    }
    std::vector<GenerateResult> results = model_.generate(requests);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      Job& job = *batch[i];
      for (const GeneratedSample& sample : results[i].samples)
        generated += std::ssize(sample.tokens);
      job.generated = std::move(results[i]);
      if (job.first_token_ns < 0) job.first_token_ns = job.last_token_ns = device_time();
      job.simulated = {job.first_token_ns - begin_ns, job.last_token_ns - job.first_token_ns, size};
      cancelled += job.wanted() ? 0 : 1;
    }
  }
  bool has_ended = false;
  {
    const std::scoped_lock lock(mutex_);
    ++stats_.calls;
    stats_.scored_tokens += scored;
    stats_.generated_tokens += generated;
    stats_.prompt_tokens += prompts;
    stats_.cancelled += cancelled;
    stats_.simulated_ns += device_time() - begin_ns;
    has_ended = ended_;
  }
  const bool is_cut = has_ended && !batch.front()->score;
  for (const auto& job : batch) job->finish(is_cut ? "the server ends" : "");
}

}  // namespace nb
