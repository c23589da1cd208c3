// Items that have no score at all: no model's answer to them could be scored.
#pragma once

#include "results/store/items.hpp"

namespace nb {

// The reason of an item whose letters a server did not tell: neither two of them among its
// likeliest tokens, nor one as its answer. As with kNotFinite `ok` is false then, and there is no
// prediction.
inline constexpr const char* kNoLetters = "letters not told";

inline bool has_no_score(const ItemRecord& item) {
  return item.reason == kNotFinite || item.reason == kNoLetters;
}

}  // namespace nb
