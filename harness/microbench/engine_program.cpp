// Using a d4 (vocabulary 4096): 64 prompts, decoding 64 samples of one prompt together, or one of
// each of 64 prompts, and the scoring of few-shot items with and without sharing what their choices
// begin with.
#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/stopwatch.hpp"
#include "harness/microbench/timing.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/incremental.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/device.hpp"
#include "model/engine/prefix_tree.hpp"
#include "model/engine/sampler.hpp"
#include "model/engine/tree_scorer.hpp"

namespace nb {
namespace {

constexpr std::int64_t kVocabulary = 4096, kSequences = 64, kPromptTokens = 32, kNewTokens = 32;
constexpr std::int64_t kItems = 4, kChoices = 4, kSharedTokens = 480, kChoiceTokens = 12;

enum class Task { kPrefill, kDecodeSamples, kDecodePrompts, kScoreShared, kScoreAlone };
struct TaskInfo {
  Task task;
  const char* name;
  std::int64_t tokens;  // that rate_tok_s counts: of the requests, whatever is shared
  Task base = task;     // whose rate is `ratio`'s denominator
  const char* ratio = nullptr;
};
constexpr std::int64_t kPromptsTokens = kSequences * kPromptTokens,
                       kDecodedTokens = kSequences * kNewTokens,
                       kScoredTokens = kItems * kChoices * (kSharedTokens + kChoiceTokens);
constexpr TaskInfo kTasks[] = {
    {Task::kPrefill, "engine/d4/prefill", kPromptsTokens},
    {Task::kDecodeSamples, "engine/d4/decode_64_samples", kDecodedTokens, Task::kPrefill,
     "ratio_to_prefill"},
    {Task::kDecodePrompts, "engine/d4/decode_64_prompts", kDecodedTokens, Task::kPrefill,
     "ratio_to_prefill"},
    {Task::kScoreAlone, "engine/d4/score_alone", kScoredTokens},
    {Task::kScoreShared, "engine/d4/score_shared", kScoredTokens, Task::kScoreAlone,
     "ratio_to_unshared"},
};
const TaskInfo& info_of(Task task) {
  for (const TaskInfo& info : kTasks)
    if (info.task == task) return info;
  NB_CHECK(false, "[microbench] no engine task {}", static_cast<int>(task));
}

// Model, tokens and requests are functions of the constants above.
class EngineWork {
 public:
  EngineWork(const DeviceProfile& profile, ExecutionMode mode)
      : device_(profile, mode, {.trace_steps = 0}),
        decoder_(config_for_depth(4, kVocabulary, 256), device_),
        incremental_(decoder_) {
    decoder_.init(1);
    std::uint64_t draw = 0;
    const Rng rng(1, "microbench engine");
    const auto tokens = [&](std::int64_t count) {
      std::vector<int> ids;
      for (std::int64_t i = 0; i < count; ++i)
        ids.push_back(static_cast<int>(rng.below(draw++, kVocabulary)));
      return ids;
    };
    if (mode == ExecutionMode::kExecute) {  // a fresh output projection is zero: all would tie
      for (float& weight : decoder_.parameters().back().value.host())
        weight = static_cast<float>(0.05 * rng.normal(draw++));
    }
    for (std::int64_t i = 0; i < kSequences; ++i) prompts_.push_back(tokens(kPromptTokens));
    for (std::int64_t item = 0; item < kItems; ++item) {
      const std::vector<int> shared = tokens(kSharedTokens);
      for (std::int64_t choice = 0; choice < kChoices; ++choice) {
        ScoreRequest& request = requests_.emplace_back();
        request.tokens = shared;
        const std::vector<int> own = tokens(kChoiceTokens);
        request.tokens.insert(request.tokens.end(), own.begin(), own.end());
        request.start = shared.size();
        request.end = request.tokens.size();
      }
    }
  }

  void run(Task task) {
    switch (task) {
      case Task::kPrefill:
        return prefill();
      case Task::kDecodeSamples:
        return decode(false);
      case Task::kDecodePrompts:
        return decode(true);
      case Task::kScoreShared:
        scores_ = score(requests_);
        return;
      case Task::kScoreAlone:
        scores_.clear();
        for (const ScoreRequest& request : requests_)
          scores_.push_back(std::move(score({&request, 1}).front()));
        return;
    }
  }

  // What has run last against the plain way: whole sequences, no cache, one at a time.
  bool is_right(Task task) {
    if (task != Task::kScoreShared && task != Task::kScoreAlone) {
      std::vector<int> sequence = prompts_.front();
      for (const std::vector<int>& tokens : chosen_) {
        if (tokens.front() != greedy(sequence)) return false;
        sequence.push_back(tokens.front());
        if (std::ssize(sequence) > kPromptTokens + 4) break;
      }
      return true;
    }
    std::vector<int> targets(requests_[1].tokens.begin() + 1, requests_[1].tokens.end());
    targets.push_back(-1);
    std::vector<float> log_probs(targets.size());
    std::vector<int> argmax(targets.size());
    decoder_.score_tokens(requests_[1].tokens, targets, 1, std::ssize(targets), log_probs, argmax);
    for (std::size_t i = requests_[1].start; i < requests_[1].end; ++i)
      if (std::bit_cast<std::uint32_t>(log_probs[i - 1]) !=
          std::bit_cast<std::uint32_t>(scores_[1].log_probs[i - requests_[1].start]))
        return false;
    return true;
  }

  Device& device() { return device_; }

 private:
  int greedy(const std::vector<int>& sequence) {
    const std::int64_t last = std::ssize(sequence) - 1;
    int next = 0;
    decoder_.forward_logits(
        sequence, 1, last + 1, {&last, 1}, [&](std::int64_t, ConstMatrix logits) {
          next = first_largest({logits.row(0), static_cast<std::size_t>(logits.cols)});
        });
    return next;
  }

  // The most likely token after each wanted row.
  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted) {
    std::vector<int>& tokens = chosen_.emplace_back(wanted.size(), 0);
    incremental_.forward(chunks, wanted, [&](std::int64_t first, ConstMatrix logits) {
      parallel_for(static_cast<std::size_t>(logits.rows), 4, [&](std::size_t i) {
        tokens[static_cast<std::size_t>(first) + i] = first_largest(
            {logits.row(static_cast<std::int64_t>(i)), static_cast<std::size_t>(logits.cols)});
      });
    });
  }

  void prefill() {
    chosen_.clear();
    caches_.clear();
    std::vector<Chunk> chunks;
    std::vector<std::int64_t> wanted;
    for (const std::vector<int>& prompt : prompts_) {
      caches_.push_back(incremental_.new_cache(0, kPromptTokens));
      chunks.push_back({.tokens = prompt, .own = caches_.back().get()});
      wanted.push_back(std::ssize(chunks) * kPromptTokens - 1);
    }
    forward(chunks, wanted);
  }

  // One token of all sequences a pass. Samples go on from the first prompt, each in its own way.
  void decode(bool own_prompts) {
    if (caches_.empty()) prefill();
    chosen_.resize(1);
    std::vector<std::unique_ptr<KeyValueCache>> own;
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < kSequences; ++i) {
      own.push_back(incremental_.new_cache(kPromptTokens, kNewTokens));
      wanted.push_back(i);
    }
    for (std::int64_t step = 0; step < kNewTokens; ++step) {
      const std::vector<int> tokens = chosen_.back();
      std::vector<Chunk> chunks;
      for (std::size_t i = 0; i < own.size(); ++i)
        chunks.push_back({.tokens = std::span(tokens).subspan(i, 1),
                          .first_position = kPromptTokens + step,
                          .prefix = {caches_[own_prompts ? i : 0]},
                          .own = own[i].get()});
      forward(chunks, wanted);
    }
  }

  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) {
    std::vector<ScoreResult> results(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      results[i].log_probs.resize(requests[i].end - requests[i].start);
      results[i].argmax.resize(results[i].log_probs.size());
    }
    score_tree(incremental_, make_prefix_tree(requests), {}, results);
    return results;
  }

  Device device_;
  Decoder decoder_;
  IncrementalDecoder incremental_;
  std::vector<std::vector<int>> prompts_;
  std::vector<ScoreRequest> requests_;
  std::vector<std::shared_ptr<KeyValueCache>> caches_;  // of the prompts
  std::vector<std::vector<int>> chosen_;                // of each pass
  std::vector<ScoreResult> scores_;
};

double rate_tok_s(EngineWork& work, const TaskInfo& info) {
  return static_cast<double>(info.tokens) / seconds_of([&] { work.run(info.task); });
}

// By turns, so that it holds under load: median of the ratios of two runs side by side.
double ratio_to_base(EngineWork& work, const TaskInfo& info) {
  std::vector<double> ratios;
  for (int turn = 0; turn < 9; ++turn) {
    const double ours = rate_tok_s(work, info);
    ratios.push_back(ours / rate_tok_s(work, info_of(info.base)));
  }
  return median(ratios);
}

void add_host(const TaskInfo& info, const MicrobenchRequest& request, const DeviceProfile& profile,
              const std::shared_ptr<std::unique_ptr<EngineWork>>& work) {
  const HostBenchmark what{.name = info.name,
                           .min_time_s = request.min_time_s,
                           .tokens = static_cast<double>(info.tokens)};
  register_host(what, [&info, work, &profile](benchmark::State& state) -> std::function<void()> {
    try {
      if (*work == nullptr) *work = std::make_unique<EngineWork>(profile, ExecutionMode::kExecute);
      (*work)->run(info.task);
      if (!(*work)->is_right(info.task))
        state.SkipWithError("differs from whole sequences without cache");
      else if (info.ratio != nullptr)
        state.counters[info.ratio] = ratio_to_base(**work, info);
    } catch (const OutOfMemory& error) {
      state.SkipWithError((std::string(kUnmeasured) + error.what()).c_str());
      return {};
    }
    return [work, &info] { (*work)->run(info.task); };
  });
}

void add_simulated(const TaskInfo& info, const DeviceProfile& profile) {
  register_simulated(info.name, [&info, &profile](benchmark::State& state) {
    EngineWork work(profile, ExecutionMode::kDry);
    if (info.task != Task::kPrefill) work.run(Task::kPrefill);
    work.device().synchronize();
    const std::int64_t start_ns = work.device().time_ns();
    work.run(info.task);
    work.device().synchronize();
    const std::int64_t time_ns = work.device().time_ns() - start_ns;
    state.counters["rate_tok_s"] =
        static_cast<double>(info.tokens) / (static_cast<double>(time_ns) * 1e-9);
    return time_ns;
  });
}

}  // namespace

void register_engine(const MicrobenchRequest& request, const DeviceProfile& profile) {
  const auto work = std::make_shared<std::unique_ptr<EngineWork>>();
  for (const TaskInfo& info : kTasks) {
    add_host(info, request, profile, work);
    add_simulated(info, profile);
  }
}

}  // namespace nb
