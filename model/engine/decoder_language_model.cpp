#include "model/engine/decoder_language_model.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/base/check.hpp"
#include "model/decoder/decoder.hpp"
#include "model/engine/log_probs.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {
namespace {

constexpr int kNotScored = -1;

std::int64_t length(const ScoreRequest& request) {
  return static_cast<std::int64_t>(request.tokens.size());
}

}  // namespace

DecoderLanguageModel::DecoderLanguageModel(Decoder& decoder, const Tokenizer& tokenizer,
                                           const ScoreBatching& batching)
    : decoder_(decoder),
      batching_(batching),
      incremental_(decoder),
      model_(incremental_, tokenizer,
             {.max_chunks = batching.max_rows, .max_tokens = batching.max_tokens}) {
  NB_CHECK(batching.max_rows >= 1, "[language_model] batches of {} rows", batching.max_rows);
}

std::vector<ScoreResult> DecoderLanguageModel::score(std::span<const ScoreRequest> requests) {
  return batching_.share_prefixes ? model_.score(requests) : score_padded(requests);
}

std::vector<ScoreResult> DecoderLanguageModel::score_padded(
    std::span<const ScoreRequest> requests) {
  const UseScope scope(decoder_.device(), Use::kScore);
  for (const ScoreRequest& request : requests) check_request(request, context_length());
  std::vector<ScoreResult> results(requests.size());
  for (const auto& batch : batches_of(requests, batching_)) score_batch(requests, batch, results);
  return results;
}

void DecoderLanguageModel::score_batch(std::span<const ScoreRequest> requests,
                                       std::span<const std::size_t> batch,
                                       std::span<ScoreResult> results) {
  const auto rows = static_cast<std::int64_t>(batch.size());
  const std::int64_t time = length(requests[batch.front()]);
  const auto count = static_cast<std::size_t>(rows * time);
  // The token at position p is scored from row p - 1, so each sequence's last row scores nothing.
  std::vector<int> tokens(count, tokenizer().bos()), targets(count, kNotScored);
  std::vector<float> log_probs(count, 0.0f);
  std::vector<int> argmax(count, kNotScored);
  for (std::size_t b = 0; b < batch.size(); ++b) {
    const ScoreRequest& request = requests[batch[b]];
    const std::size_t begin = b * static_cast<std::size_t>(time);
    std::copy(request.tokens.begin(), request.tokens.end(), tokens.data() + begin);
    for (std::size_t p = request.start; p < request.end; ++p)
      targets[begin + p - 1] = request.tokens[p];
  }
  decoder_.score_tokens(tokens, targets, rows, time, log_probs, argmax);
  for (std::size_t b = 0; b < batch.size(); ++b) {
    const ScoreRequest& request = requests[batch[b]];
    const std::size_t first = b * static_cast<std::size_t>(time) + request.start - 1;
    const std::size_t size = request.end - request.start;
    ScoreResult& result = results[batch[b]];
    result.log_probs.assign(log_probs.data() + first, log_probs.data() + first + size);
    result.argmax.assign(argmax.data() + first, argmax.data() + first + size);
  }
  take_top(requests, batch, tokens, time, results);
}

// Once more, for the logits: only for requests that wish more than their own tokens' scores.
void DecoderLanguageModel::take_top(std::span<const ScoreRequest> requests,
                                    std::span<const std::size_t> batch, std::span<const int> tokens,
                                    std::int64_t time, std::span<ScoreResult> results) {
  std::vector<std::int64_t> rows;
  std::vector<std::pair<std::size_t, std::size_t>> wanted;  // request and index of each row
  for (std::size_t b = 0; b < batch.size(); ++b) {
    const ScoreRequest& request = requests[batch[b]];
    if (request.top == 0) continue;
    results[batch[b]].top.resize(request.end - request.start);
    for (std::size_t p = request.start; p < request.end; ++p) {
      rows.push_back(static_cast<std::int64_t>(b) * time + static_cast<std::int64_t>(p) - 1);
      wanted.emplace_back(batch[b], p - request.start);
    }
  }
  if (rows.empty()) return;
  const auto pointwise = decoder_.device().numerics().pointwise_policy();
  decoder_.forward_logits(
      tokens, std::ssize(batch), time, rows, [&](std::int64_t first, ConstMatrix logits) {
        for (std::int64_t i = 0; i < logits.rows; ++i) {
          const auto& [request, index] = wanted[static_cast<std::size_t>(first + i)];
          results[request].top[index] =
              most_likely({logits.row(i), static_cast<std::size_t>(logits.cols)}, logits.cols,
                          requests[request].top, pointwise);
        }
      });
}

std::vector<std::vector<std::size_t>> batches_of(std::span<const ScoreRequest> requests,
                                                 const ScoreBatching& batching) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return requests[i].start == requests[i].end; });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return length(requests[a]) > length(requests[b]);
  });
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t i : order) {
    const bool is_full =
        batches.empty() || std::ssize(batches.back()) >= batching.max_rows ||
        (std::ssize(batches.back()) + 1) * length(requests[batches.back().front()]) >
            batching.max_tokens;
    if (is_full) batches.emplace_back();
    batches.back().push_back(i);
  }
  return batches;
}

}  // namespace nb
