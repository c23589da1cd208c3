#include "harness/doctor/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "harness/base/check.hpp"

namespace nb::doctor {
namespace {

constexpr std::uint32_t kMatchLimit = 200'000;  // steps; without JIT. A line has 4,096 bytes
constexpr std::size_t kLeastLiteral = 3;

}  // namespace

struct Pattern::Code {
  ~Code() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
  pcre2_code* code = nullptr;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* context = nullptr;
};

Pattern::Pattern(std::string_view text) : code_(std::make_unique<Code>()) {
  int error = 0;
  PCRE2_SIZE place = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, &error,
                              &place, nullptr);
  NB_CHECK(code_->code != nullptr, "pattern {} is broken at {}", text, place);
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);
  code_->match = pcre2_match_data_create_from_pattern(code_->code, nullptr);
  code_->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(code_->context, kMatchLimit);
}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

std::vector<std::string_view> Pattern::match(std::string_view text) const {
  const int count = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                0, 0, code_->match, code_->context);
  std::vector<std::string_view> groups;
  if (count <= 0) return groups;
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(code_->match);
  for (int i = 0; i < count; ++i) {
    const bool is_taken = bounds[2 * i] != PCRE2_UNSET;
    groups.push_back(is_taken ? text.substr(bounds[2 * i], bounds[2 * i + 1] - bounds[2 * i])
                              : std::string_view());
  }
  return groups;
}

bool Pattern::found_in(std::string_view text) const {
  return pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0,
                     code_->match, code_->context) > 0;
}

std::vector<std::string> literals_of(std::string_view pattern) {
  std::vector<std::string> literals;
  std::string run, best;
  int depth = 0;
  const auto end_run = [&] {
    // A word of nearly every line of a training log helps nobody.
    const bool is_better = best == "loss" ? run.size() >= kLeastLiteral : run.size() > best.size();
    if (is_better) best = run;
    run.clear();
  };
  bool has_all = true;
  const auto end_alternative = [&] {
    end_run();
    if (best.size() < kLeastLiteral) has_all = false;
    literals.push_back(std::exchange(best, ""));
  };
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    char c = pattern[at];
    bool is_plain = false;
    if (c == '\\' && at + 1 < pattern.size()) {
      c = pattern[++at];
      is_plain = std::isalnum(static_cast<unsigned char>(c)) == 0;  // \. is a dot, \w a class
      if (!is_plain && depth == 0) end_run();
    } else if (c == '[') {
      if (depth == 0) end_run();
      ++at;
      if (at < pattern.size() && pattern[at] == '^') ++at;
      if (at < pattern.size() && pattern[at] == ']') ++at;
      for (; at < pattern.size() && pattern[at] != ']'; ++at)
        if (pattern[at] == '\\') ++at;
    } else if (c == '(') {
      if (depth++ == 0) end_run();
    } else if (c == ')') {
      --depth;
    } else if (c == '|') {
      if (depth == 0) end_alternative();
    } else if (c == '?' || c == '*' || c == '{') {
      // What stands before it may be missing.
      if (depth == 0) {
        if (!run.empty()) run.pop_back();
        end_run();
      }
      if (c == '{') at = std::min(pattern.find('}', at), pattern.size() - 1);
    } else if (c == '+' || c == '.' || c == '^' || c == '$') {
      if (depth == 0) end_run();
    } else {
      is_plain = true;
    }
    if (is_plain && depth == 0) run += c;
  }
  end_alternative();
  return has_all ? literals : std::vector<std::string>();
}

}  // namespace nb::doctor
