// A vocabulary of every pair, every triple and a few longer words of the letters a to z, with the
// pairs on the ranks that they would have among all pairs of bytes: merges from 24,993 to 83,372.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "evals/probes/items.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {
namespace {

Tokenizer all_pairs() {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second)
      vocabulary.tokens.push_back({static_cast<char>(first), static_cast<char>(second)});
  for (char a = 'a'; a <= 'z'; ++a)
    for (char b = 'a'; b <= 'z'; ++b)
      for (char c = 'a'; c <= 'z'; ++c) vocabulary.tokens.push_back({a, b, c});
  for (const char* word : {"abcd", "wxyz", "efgh", "abcdefgh", "zzzz"})
    vocabulary.tokens.emplace_back(word);
  append_nanochat_specials(vocabulary);
  return Tokenizer(std::move(vocabulary));
}

struct Encoded {
  const char* text;
  const char* ids;
};
// tests/golden/probes.py, which merges by the definition: again and again the pair with the lowest
// id.
constexpr auto kTexts = std::to_array<Encoded>({
    {"ab", "25186"},
    {"cab", "67145"},
    {"abc", "65820"},
    {"zyx", "83339"},
    {"abcd", "83368"},
    {"abcde", "25186 67226"},
    {"wxyz", "83369"},
    {"zzzz", "83372"},
    {"zzzzz", "31610 83367"},
    {"abcdefgh", "83371"},
    {"hgfedcba", "26983 26469 25955 25441"},
    {"azbycxdw", "25210 25465 25720 25975"},
    {"zyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyxzyx",
     "31609 82014 82014 82014 82014 82014 82014 82014 82014 82014 82014 82014 82014 82014 82014 "
     "82014 82014 82014 82014 82014 82014 82014 82014 82014 31098 31352"},
    {"abcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcde",
     "25186 67226 25186 67226 25186 67226 25186 67226 25186 67226 25186 67226 25186 67226 25186 "
     "67226 25186 67226 25186 67226 25186 67226 25186 67226 25186 67226 25186 67226"},
});

}  // namespace

Result<EvalResult> probe_merge_rank(const ProbedModels&) {
  const Tokenizer tokenizer = all_pairs();
  std::vector<ItemRecord> items;
  for (const Encoded& one : kTexts)
    items.push_back(probe_item("merge_rank", one.text, one.ids,
                               fmt::format("{}", fmt::join(tokenizer.encode(one.text), " "))));
  return probe_result("merge_rank", std::move(items));
}

}  // namespace nb
