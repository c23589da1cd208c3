// Ends a text at the first of some strings while it comes in pieces. What might belong to one is
// held back: the last characters, one fewer than the longest string has. No character of UTF-8 is
// cut. What is shown does not depend on how the text was cut to pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

class StopStrings {
 public:
  // stops: UTF-8, none of them empty (NB_CHECK); none at all: everything is shown at once.
  // includes: what is shown ends behind the string that was hit, not before it.
  explicit StopStrings(std::vector<std::string> stops, bool includes = false);

  // What can be shown now. A string is hit as soon as it is complete; of those complete at the same
  // character the longest counts. Nothing is shown behind it, whatever is pushed.
  std::string push(std::string_view piece);
  // What was held back: the text has ended.
  std::string finish();

  // Which of the strings was hit.
  std::optional<std::size_t> hit() const { return hit_; }

 private:
  std::vector<std::string> stops_;
  bool includes_;
  std::size_t most_held_ = 0;  // characters
  std::string held_;
  std::optional<std::size_t> hit_;
};

}  // namespace nb
