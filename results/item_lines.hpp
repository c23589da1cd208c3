// The lines of items.jsonl (items.hpp) one by one: of a big file to be hashed, not kept.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "results/items.hpp"

namespace nb {

// Each with its end. Errors: as of items_text.
Result<void> for_each_item_line(const std::vector<ItemRecord>& items,
                                const std::function<void(std::string_view line)>& take);

// The first item whose id another before it has; nullptr: there is none.
const ItemRecord* repeated_item(const std::vector<ItemRecord>& items);

}  // namespace nb
