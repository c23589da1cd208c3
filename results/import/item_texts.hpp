// The texts of items that another harness scored, from the file that its record was made of, which
// is read again: a record keeps their hashes alone.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/store/store.hpp"
#include "results/text/item_text.hpp"

namespace nb {

// stored: of read_any_run, with its items in memory. task: a key of its items. One text for each
// name, in their order; one without a text says so (ItemText::warning).
// Errors: as read_foreign, should the file have changed.
Result<std::vector<ItemText>> foreign_item_texts(const StoredRecord& stored,
                                                 const std::string& task,
                                                 std::span<const ItemName> names);

}  // namespace nb
