// A change of one number of which nobody knows how far chance moves it: only what is beyond any
// such noise is called worse or better. One table of bounds, a row per unit; for foreign totals
// without items or standard errors.
#pragma once

#include <optional>
#include <string_view>

#include "results/messages/message.hpp"
#include "results/store/record.hpp"

namespace nb {

struct GrossChange {
  bool is_beyond = false;
  Sentence bound;  // what it was held against: "10 % and .05 nat"
};
// A share of which the number of items is not known is judged as if it had the fewest of any task
// in common use.
inline constexpr std::int64_t kFewestItems = 30;  // AIME: 15 problems, two papers a year

// A number of that unit, from a to b. is_share: of scores between 0 and 1. Empty: no bound is known
// for the unit.
std::optional<GrossChange> gross_change(double a, double b, std::string_view unit, bool is_share);

}  // namespace nb
