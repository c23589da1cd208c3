// The items of one task that two records of ours have, pair by pair: one pair in memory at a time
// where both files have them in the same order, as evaluations of the same items do; from where
// they part on the rest of both.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "harness/base/result.hpp"
#include "results/store/items.hpp"
#include "results/store/store.hpp"

namespace nb {

// row: of A, from 0. Errors: a record without items of the task; files that are not those of their
// records, or damaged; other items, or another number of them. Pairs before the error were given.
Result<void> for_each_pair(const StoredRecord& a, const StoredRecord& b, const std::string& task,
                           const std::function<void(std::size_t row, const ItemRecord& left,
                                                    const ItemRecord& right)>& take);

}  // namespace nb
