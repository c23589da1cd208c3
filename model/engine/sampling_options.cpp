#include "model/engine/sampling_options.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nb {
namespace {

std::optional<std::string> trouble_with_id(const char* name, int id, int vocab_size) {
  if (id >= 0 && id < vocab_size) return {};
  return fmt::format("{} has token {}: ids go from 0 to {}", name, id, vocab_size - 1);
}

std::optional<std::string> trouble_with_ids(const char* name, const std::vector<int>& ids,
                                            int vocab_size) {
  for (const int id : ids)
    if (auto trouble = trouble_with_id(name, id, vocab_size)) return trouble;
  return {};
}

}  // namespace

std::optional<std::string> trouble_with(const SamplingOptions& options, int vocab_size) {
  // NaN is in no range.
  if (!(options.top_p > 0 && options.top_p <= 1))
    return fmt::format("top_p is {}: above 0 and at most 1, 1 keeps all tokens", options.top_p);
  if (!(options.min_p >= 0 && options.min_p <= 1))
    return fmt::format("min_p is {}: from 0 to 1, 0 keeps all tokens", options.min_p);
  if (!(options.repetition_penalty > 0) || !std::isfinite(options.repetition_penalty))
    return fmt::format("repetition_penalty is {}: above 0, 1 changes nothing",
                       options.repetition_penalty);
  for (const auto& [name, penalty] : {std::pair{"frequency_penalty", options.frequency_penalty},
                                      {"presence_penalty", options.presence_penalty}})
    if (!(penalty >= -2 && penalty <= 2))
      return fmt::format("{} is {}: from -2 to 2, 0 changes nothing", name, penalty);
  for (const auto& [id, bias] : options.logit_bias) {
    if (auto trouble = trouble_with_id("logit_bias", id, vocab_size)) return trouble;
    if (!std::isfinite(bias))
      return fmt::format("logit_bias of token {} is {}: a finite number", id, bias);
  }
  if (auto trouble = trouble_with_ids("allowed", options.allowed, vocab_size)) return trouble;
  if (options.min_tokens < 0)
    return fmt::format("min_tokens is {}: at least 0", options.min_tokens);
  if (auto trouble = trouble_with_ids("min_tokens_ids", options.min_tokens_ids, vocab_size))
    return trouble;
  for (const std::vector<int>& words : options.bad_words) {
    if (words.empty()) return "bad_words has an empty sequence: at least one token each";
    if (auto trouble = trouble_with_ids("bad_words", words, vocab_size)) return trouble;
  }
  return {};
}

std::optional<std::string> trouble_with(double temperature, std::optional<int> top_k,
                                        const SamplingOptions& options, int vocab_size) {
  if (!(temperature >= 0 && temperature <= 2))
    return fmt::format("temperature is {}: from 0 to 2, 0 takes the most likely token",
                       temperature);
  if (top_k && *top_k < 1) return fmt::format("top_k is {}: at least 1", *top_k);
  return trouble_with(options, vocab_size);
}

}  // namespace nb
