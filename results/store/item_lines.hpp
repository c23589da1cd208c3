// The lines of items.jsonl (items.hpp) one by one: of a big file to be hashed, not kept.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "harness/base/result.hpp"
#include "results/store/packed_items.hpp"

namespace nb {

// Each with its end. Errors: as of items_text.
Result<void> for_each_item_line(const PackedItems& items,
                                const std::function<void(std::string_view line)>& take);

// The first item whose id another before it has; nothing: there is none.
std::optional<std::size_t> repeated_item(const PackedItems& items);

}  // namespace nb
