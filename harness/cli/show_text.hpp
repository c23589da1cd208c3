// What `npubench show` prints: one item whole, or the items of a task as a table.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "results/store/item_choice.hpp"
#include "results/store/items.hpp"
#include "results/text/item_text.hpp"

namespace nb::cli {

inline constexpr const char* kShowSchema = "npubench.show/1";

// An item with its text, and where it stands.
struct ShownItem {
  ItemTask from;
  ItemRecord item;
  std::size_t place = 0;  // among the items, from 0
  std::size_t items = 0;  // of the task
  ItemText text;
};

std::string item_text(const ShownItem& shown);
Json item_json(const ShownItem& shown);

// The first of the `found` items.
struct ShownTable {
  ItemTask from;
  std::string only;                  // "wrong" or "right" where only these are asked for
  std::size_t items = 0, found = 0;  // of the task; of them of that kind
  std::vector<ShownItem> shown;
};
std::string table_text(const ShownTable& table);
Json table_json(const ShownTable& table);

// Which tasks there are, where none is named.
std::string tasks_text(const std::vector<ItemTask>& tasks);
Json tasks_json(const std::vector<ItemTask>& tasks);

// An item as `--item` takes them: the source's name, else the id.
std::string shown_name(const ItemRecord& item);

}  // namespace nb::cli
