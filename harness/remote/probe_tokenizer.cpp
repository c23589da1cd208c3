// P2: whether the server's tokenizer is ours.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/remote/probe_texts.hpp"
#include "harness/remote/prober.hpp"

namespace nb {

void Prober::look_at_served_tokenizer() {
  facts_.encodes = true;
  const int back = served_->texts_that_come_back();
  const auto all = static_cast<int>(kSpecialText);
  note("P2", back == all ? "passed" : "warned",
       fmt::format("the server encodes and decodes all texts itself; {} of {} come back as they "
                   "were",
                   back, all));
  facts_.notes.insert(facts_.notes.end(), served_->notes().begin(), served_->notes().end());
}

Result<void> Prober::compare_tokenizers() {
  std::vector<RemoteCall> calls;
  for (const std::string_view text : kProbeTexts)
    calls.push_back(wire_.tokenize(std::string(text)));
  NB_TRY(const RemoteAnswer first, question(calls.front()));
  if (!first.is_ok()) return count_tokens();
  const auto answers = connection_.call_all(calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    NB_TRY(const Json json, connection_.json_of(calls[i], answers[i]));
    auto theirs = parse_tokens(json);
    if (!theirs) return count_tokens();
    const std::vector<int> ours = tokenizer_.encode(kProbeTexts[i]);
    if (*theirs == ours) continue;
    // A leading <|bos|> although none was asked for is no other tokenizer: ids are sent.
    if (!theirs->empty() && theirs->front() == tokenizer_.bos() &&
        std::equal(theirs->begin() + 1, theirs->end(), ours.begin(), ours.end()))
      continue;
    if (i == kSpecialText) {
      facts_.notes.push_back(
          fmt::format("{} reads names of special tokens in a text as these tokens; here they "
                      "stay text",
                      who()));
      continue;
    }
    return differs(i, *theirs, ours);
  }
  note("P2", "passed", fmt::format("{} texts have the same ids", kProbeTexts.size()));
  return {};
}

Result<void> Prober::differs(std::size_t i, const std::vector<int>& theirs,
                             const std::vector<int>& ours) {
  const auto [a, b] = std::ranges::mismatch(theirs, ours);
  return bad_input(
      fmt::format("--tokenizer: not the one of {}: in text {} of {} (\"{}\") token {} is {} "
                  "there and {} here; "
                  "give the tokenizer.json of the served model (P2)",
                  who(), i + 1, kProbeTexts.size(), std::string(kProbeTexts[i]), a - theirs.begin(),
                  a == theirs.end() ? "missing" : std::to_string(*a),
                  b == ours.end() ? "missing" : std::to_string(*b)));
}

Result<void> Prober::count_tokens() {
  std::vector<RemoteCall> calls;
  for (const std::string_view text : kProbeTexts)
    calls.push_back(wire_.complete_text(std::string(text)));
  std::int64_t front = -1, compared = 0;
  const auto answers = connection_.call_all(calls);
  for (std::size_t i = 0; i < kSpecialText; ++i) {
    if (!answers[i] || !answers[i]->is_ok()) continue;
    const auto json = parse_answer(answers[i]->body);
    const auto generated = json ? parse_generated(*json) : Result<Generated>(run_error(""));
    if (!generated || generated->prompt_tokens < 0) continue;
    const auto ours = std::ssize(tokenizer_.encode(kProbeTexts[i]));
    const std::int64_t more = generated->prompt_tokens - ours;
    if (front < 0 && (more == 0 || more == 1)) front = more;
    if (more != front)
      return bad_input(fmt::format(
          "--tokenizer: not the one of {}: text {} of {} (\"{}\") has {} tokens there and {} "
          "here; "
          "give the tokenizer.json of the served model (P2)",
          who(), i + 1, kProbeTexts.size(), std::string(kProbeTexts[i]), generated->prompt_tokens,
          ours));
    ++compared;
  }
  if (compared == 0) {
    note("P2", "not asked", "the server tells neither ids nor numbers of tokens");
    facts_.notes.push_back(fmt::format(
        "{} has no /tokenize and counts no tokens: whether the tokenizers agree is not known",
        who()));
    return {};
  }
  note("P2", "passed",
       fmt::format("{} texts have the same numbers of tokens; the server tells no "
                   "ids",
                   compared));
  return {};
}

}  // namespace nb
