// Which rows of a big file hold an item that is asked for, told from their text before they are
// parsed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

class WantedRows {
 public:
  WantedRows() = default;
  // names: as the source has them, "17" or "Level 3/12" (of which the part behind the slash tells).
  // Of names that a row may write differently, as "a b", every row may hold one.
  explicit WantedRows(std::vector<std::string> names);

  // One of the names stands somewhere in the row, as a word. True where nothing is asked for.
  bool may_hold(std::string_view row) const;
  // One of the names is the value of a member with such a key. True of rows without any.
  bool may_hold(std::string_view row, std::span<const std::string_view> keys) const;

 private:
  bool has(std::string_view name) const;
  enum class Value { kNotThere, kOther, kWanted };
  Value value_of(std::string_view row, std::string_view key) const;
  std::vector<std::string> words_;  // sorted
};

}  // namespace nb
