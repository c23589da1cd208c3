// A regular expression over bytes (PCRE2, JIT), which gives up on a text that would take it too
// long: no input can make it hang or overflow a stack. Immutable after it is made; not for two
// threads at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nb::doctor {

class Pattern {
 public:
  explicit Pattern(std::string_view text);  // a broken one is our own mistake
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  bool found_in(std::string_view text) const;
  // The whole match and its groups (empty: not taken); nothing: it does not match.
  std::vector<std::string_view> match(std::string_view text) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

// Texts of which one stands in everything that the expression matches: the longest run of plain
// characters of each of its alternatives. Empty: an alternative has none of at least three
// characters, so nothing can be said.
std::vector<std::string> literals_of(std::string_view pattern);

}  // namespace nb::doctor
