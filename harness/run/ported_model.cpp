#include "harness/run/ported_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "model/decoder/incremental.hpp"
#include "model/engine/incremental_language_model.hpp"
#include "model/engine/prefix_tree.hpp"
#include "model/engine/tree_scorer.hpp"

namespace nb {
namespace {

constexpr std::size_t kReversedMerges = 64;

// Behind the prompt: a sample's own tokens, or those that are scored behind a cached prefix.
bool is_behind_prompt(const Chunk& chunk) { return !chunk.prefix.empty(); }

// A decoder whose caches a port fills or counts wrong. Which chunks are concerned depends on their
// own sequence alone, so batches change no result.
class PortedIncremental final : public IncrementalModel {
 public:
  PortedIncremental(IncrementalModel& model, const PortDefects& defects)
      : model_(model),
        shifts_(defects.has(PortDefect::kRopePositions)),
        is_stale_(defects.has(PortDefect::kStaleKvCache)) {}

  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
               const LogitSink& sink) override {
    std::vector<Chunk> ported = shifted(chunks);
    if (!is_stale_) return model_.forward(ported, wanted, sink);
    // What this pass sees of its own tokens is right: it is run without their places in the
    // caches, which are filled apart.
    std::vector<Chunk> stale;
    std::vector<std::vector<int>> tokens;
    for (Chunk& chunk : ported) {
      if (!is_behind_prompt(chunk) || chunk.own == nullptr) continue;
      tokens.push_back(tokens_before(chunk));
      stale.push_back(chunk);
      chunk.prefix.push_back({std::shared_ptr<const KeyValueCache>(), chunk.own});  // not owned
      chunk.own = nullptr;
    }
    for (std::size_t i = 0; i < stale.size(); ++i) stale[i].tokens = tokens[i];
    model_.forward(ported, wanted, sink);
    model_.forward(stale, {}, {});
  }
  void forward_for_scores(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
                          const LogitSink& sink) override {
    model_.forward_for_scores(shifted(chunks), wanted, sink);
  }
  std::unique_ptr<KeyValueCache> new_cache(std::int64_t first_position,
                                           std::int64_t capacity) override {
    return model_.new_cache(first_position, capacity);
  }
  std::int64_t vocab_size() const override { return model_.vocab_size(); }
  std::int64_t context_length() const override { return model_.context_length(); }
  Device& device() const override { return model_.device(); }

 private:
  std::vector<Chunk> shifted(std::span<const Chunk> chunks) const {
    std::vector<Chunk> ported(chunks.begin(), chunks.end());
    if (shifts_)
      for (Chunk& chunk : ported)
        if (is_behind_prompt(chunk)) chunk.position_shift = -1;
    return ported;
  }

  // The tokens one place further: each place has the one before.
  std::vector<int> tokens_before(const Chunk& chunk) {
    const bool is_new = chunk.own->size() == 0;
    std::vector<int> tokens = {is_new ? chunk.prefix.back()->last_token() : last_token_[chunk.own]};
    tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end() - 1);
    last_token_[chunk.own] = chunk.tokens.back();
    return tokens;
  }

  IncrementalModel& model_;
  bool shifts_, is_stale_;
  std::map<const KeyValueCache*, int> last_token_;  // that a cache ought to end with
};

// Each request's tokens before its scored ones, and the scored ones behind them in a node of their
// own: no request shares with another what a port's caches would make different.
PrefixTree prompt_and_rest(std::span<const ScoreRequest> requests) {
  PrefixTree tree;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const ScoreRequest& request = requests[r];
    if (request.start == request.end) continue;
    const std::span<const int> tokens(request.tokens);
    const std::size_t prompt = tree.nodes.size();
    tree.roots.push_back(prompt);
    PrefixNode before;
    before.tokens = tokens.first(request.start);
    before.wanted = {{static_cast<std::int64_t>(request.start) - 1, tokens[request.start], r,
                      /*index=*/0, request.top}};
    tree.nodes.push_back(std::move(before));
    if (request.end - request.start < 2) continue;
    PrefixNode rest;
    rest.tokens = tokens.subspan(request.start, request.end - 1 - request.start);
    rest.first_position = static_cast<std::int64_t>(request.start);
    rest.parent = prompt;
    for (std::size_t i = 1; i < request.end - request.start; ++i)
      rest.wanted.push_back({static_cast<std::int64_t>(i) - 1, tokens[request.start + i], r,
                             /*index=*/i, request.top});
    tree.nodes[prompt].children = {tree.nodes.size()};
    tree.nodes.push_back(std::move(rest));
  }
  return tree;
}

class PortedLanguageModel final : public LanguageModel {
 public:
  PortedLanguageModel(Decoder& decoder, const Tokenizer& tokenizer, const ScoreBatching& batching,
                      const PortDefects& defects)
      : separates_(defects.has(PortDefect::kRopePositions)),
        batching_{.max_chunks = batching.max_rows, .max_tokens = batching.max_tokens},
        incremental_(decoder),
        ported_(incremental_, defects),
        model_(ported_, tokenizer, batching_) {}

  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override {
    if (!separates_) return model_.score(requests);
    const UseScope scope(ported_.device(), Use::kScore);
    std::vector<ScoreResult> results;
    for (const ScoreRequest& request : requests) {
      check_request(request, context_length());
      results.push_back(unscored(request));
    }
    score_tree(ported_, prompt_and_rest(requests), batching_, results);
    return results;
  }
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override {
    return model_.generate(requests);
  }
  const Tokenizer& tokenizer() const override { return model_.tokenizer(); }
  std::int64_t context_length() const override { return model_.context_length(); }

 private:
  bool separates_;
  TreeBatching batching_;
  IncrementalDecoder incremental_;
  PortedIncremental ported_;
  IncrementalLanguageModel model_;
};

}  // namespace

std::unique_ptr<LanguageModel> ported_model(Decoder& decoder, const Tokenizer& tokenizer,
                                            const ScoreBatching& batching,
                                            const PortDefects& defects) {
  if (defects.has(PortDefect::kRopePositions) || defects.has(PortDefect::kStaleKvCache))
    return std::make_unique<PortedLanguageModel>(decoder, tokenizer, batching, defects);
  return std::make_unique<DecoderLanguageModel>(decoder, tokenizer, batching);
}

Result<Tokenizer> with_last_merges_reversed(const Tokenizer& tokenizer) {
  Vocabulary vocabulary = tokenizer.vocabulary();
  std::vector<std::size_t> merged;  // ids of the tokens of several bytes
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (vocabulary.tokens[id].size() > 1) merged.push_back(id);
  if (merged.size() < 2)
    return bad_input("tokenizer_mismatch: the tokenizer has fewer than two merges");
  const std::size_t count = std::min(kReversedMerges, merged.size());
  const std::span last = std::span(merged).last(count);
  for (std::size_t i = 0; i < count / 2; ++i)
    std::swap(vocabulary.tokens[last[i]], vocabulary.tokens[last[count - 1 - i]]);
  return Tokenizer(std::move(vocabulary));
}

std::size_t first_half_twice(std::size_t i, std::size_t items) { return i % ((items + 1) / 2); }

}  // namespace nb
