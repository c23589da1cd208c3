// The texts of scored items, wherever they are: in the data that they were made of, or in another
// harness's file. For `show`, `compare --flips` and the report.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/compare/flips.hpp"
#include "results/store/store.hpp"
#include "results/text/item_text.hpp"

namespace nb {

// One for each name, in their order. task: a key of the record's items. An item whose text is not
// there, or is not the one that was scored, says why (ItemText::warning); so does every item where
// the data are missing.
std::vector<ItemText> look_at_items(const StoredRecord& stored, const std::string& task,
                                    std::span<const ItemName> names,
                                    const std::filesystem::path& data_dir);

// Sets Flip::text of the first `most` flips: of side A, or of B where A has none.
void add_texts(ItemList& list, const std::filesystem::path& data_dir, std::size_t most);

}  // namespace nb
