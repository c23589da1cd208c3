// A row of the tables of messages (message_table.hpp).
#pragma once

#include <string_view>

namespace nb {

// en, zh: {} takes the arguments in order, or {0}, {1} where a language needs another order or
// names one twice. English "one|many": one where the first argument is 1; Chinese has one form. A
// key that begins with "join." is what stands between the parts of a list.
struct MessageRow {
  std::string_view key, en, zh;
  constexpr bool joins() const { return key.starts_with("join."); }
};

}  // namespace nb
