#include "evals/chat/answer_filter.hpp"

#include <algorithm>
#include <cstddef>

#include "harness/base/check.hpp"

namespace nb {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_price(char c) { return is_digit(c) || c == '$' || c == '.' || c == ','; }

// Where a match that begins at `begin` ends; begin: there is none.
std::size_t match_end(std::string_view text, std::size_t begin) {
  const std::size_t from = begin + (text[begin] == '-' ? 1 : 0);
  std::size_t end = from;
  while (end < text.size() && is_of_price(text[end])) ++end;
  if (end - from >= 2) return end;
  end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end > from ? end : begin;
}

}  // namespace

std::vector<std::string_view> answer_filters() { return {kStrictFilter, "flexible", "majority"}; }

AnswerFilter answer_filter(std::string_view name) {
  if (name.empty() || name == kStrictFilter) return AnswerFilter::kStrict;
  if (name == "flexible") return AnswerFilter::kFlexible;
  NB_CHECK(name == "majority", "[answer_filter] no filter {}", name);
  return AnswerFilter::kMajority;
}

std::optional<std::string> last_number(std::string_view text) {
  std::optional<std::string_view> last;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = match_end(text, at);
    if (end > at) last = text.substr(at, end - at);
    at = std::max(at + 1, end);
  }
  if (!last) return std::nullopt;
  return plain_number(*last);
}

std::string plain_number(std::string_view number) {
  std::string plain(number);
  std::erase_if(plain, [](char c) { return c == ',' || c == '$'; });
  if (plain.ends_with('.')) plain.pop_back();
  return plain;
}

std::optional<std::string> majority(std::span<const std::optional<std::string>> answers) {
  NB_CHECK(!answers.empty(), "[majority] no answers");
  const std::optional<std::string>* best = nullptr;
  std::ptrdiff_t votes = 0;
  for (const auto& answer : answers) {
    const auto own = std::ranges::count(answers, answer);
    if (own > votes) {
      best = &answer;
      votes = own;
    }
  }
  return *best;
}

}  // namespace nb
