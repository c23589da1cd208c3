#include "evals/core/spans.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "harness/base/check.hpp"

namespace nb {
namespace {

std::size_t shortest(std::span<const std::vector<int>> sequences) {
  std::size_t length = sequences.front().size();
  for (const auto& sequence : sequences) length = std::min(length, sequence.size());
  return length;
}

// First i < length at which at(sequence, i) is not the same for all; length when there is none.
template <class At>
std::size_t first_difference(std::span<const std::vector<int>> sequences, At at) {
  const std::size_t length = shortest(sequences);
  for (std::size_t i = 0; i < length; ++i)
    for (const auto& sequence : sequences)
      if (at(sequence, i) != at(sequences.front(), i)) return i;
  return length;
}

}  // namespace

std::size_t common_prefix(std::span<const std::vector<int>> sequences) {
  return first_difference(sequences, [](const std::vector<int>& s, std::size_t i) { return s[i]; });
}

std::size_t common_suffix(std::span<const std::vector<int>> sequences) {
  return first_difference(
      sequences, [](const std::vector<int>& s, std::size_t i) { return s[s.size() - 1 - i]; });
}

Result<std::vector<ScoreRequest>> spans_of(std::vector<std::vector<int>> sequences,
                                           CoreTaskType type) {
  NB_CHECK(!sequences.empty(), "[spans_of] no sequences");
  for (const auto& sequence : sequences)
    NB_CHECK(!sequence.empty(), "[spans_of] a sequence without <|bos|>");
  std::vector<ScoreRequest> requests;
  if (type == CoreTaskType::kLanguageModelling) {
    NB_CHECK(sequences.size() == 2, "[spans_of] {} sequences for language modelling",
             sequences.size());
    auto& without = sequences[0];
    auto& with = sequences[1];
    const bool is_prefix =
        without.size() < with.size() && std::equal(without.begin(), without.end(), with.begin());
    if (!is_prefix)
      return bad_input(fmt::format(
          "the prompt without its continuation ({} tokens) is not a token prefix of the "
          "prompt with it ({} tokens); this tokenizer joins them",
          without.size(), with.size()));
    const std::size_t end = with.size();
    requests.push_back({std::move(with), without.size(), end});
    return requests;
  }
  const bool by_prefix = type == CoreTaskType::kMultipleChoice;
  const std::size_t common = by_prefix ? common_prefix(sequences) : common_suffix(sequences);
  for (auto& sequence : sequences) {
    const std::size_t end = sequence.size();
    // Equal options share everything, <|bos|> included, which nothing comes before.
    const std::size_t start = by_prefix ? common : std::max<std::size_t>(1, end - common);
    requests.push_back({std::move(sequence), start, end});
  }
  return requests;
}

Result<bool> cut_left(ScoreRequest& request, std::int64_t limit) {
  const auto length = static_cast<std::int64_t>(request.tokens.size());
  if (length <= limit) return false;
  const auto cut = static_cast<std::size_t>(length - limit);
  if (cut + 1 > request.start)
    return bad_input(fmt::format(
        "the scored part has {} tokens, but the context holds {}; use a longer sequence length",
        request.end - request.start, limit));
  request.tokens.erase(request.tokens.begin(),
                       request.tokens.begin() + static_cast<std::ptrdiff_t>(cut));
  request.start -= cut;
  request.end -= cut;
  return true;
}

}  // namespace nb
