// Which text counts as the answer of a number task: as the reference extracts it, or as the users
// of lm-evaluation-harness know it (lm_eval/tasks/gsm8k/gsm8k.yaml, version 3;
// filters/selection.py).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

enum class AnswerFilter {
  kStrict,    // the first "#### number"; an item is right if any sample is
  kFlexible,  // the last number anywhere; else as kStrict
  kMajority,  // the "#### number" that most samples give: maj@k
};
inline constexpr std::string_view kStrictFilter = "strict";  // what a task without variant does
std::vector<std::string_view> answer_filters();              // "strict", "flexible", "majority"
AnswerFilter answer_filter(std::string_view name);           // empty: kStrict

// The last match of `(-?[$0-9.,]{2,})|(-?[0-9]+)`, without commas, dollars and the full stop at its
// end (regexes_to_ignore). It may be no number at all ("."). Nothing: no match.
std::optional<std::string> last_number(std::string_view text);
// `number` without dollars and the full stop at its end, as last_number() gives it.
std::string plain_number(std::string_view number);

// The answer that occurs most; of several, the one that occurs first. Texts without an answer vote
// too, for none. At least one answer.
std::optional<std::string> majority(std::span<const std::optional<std::string>> answers);

}  // namespace nb
