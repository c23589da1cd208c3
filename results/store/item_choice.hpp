// Which items of a run are meant by a task, an evaluation and an item as people name them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/store/packed_items.hpp"
#include "results/store/store.hpp"

namespace nb {

// One task of one record that has items.
struct ItemTask {
  const StoredRecord* stored = nullptr;  // into the run, which outlives this
  std::string task;                      // a key of record.items
};

// All of them, in the order of the run's records. node: empty, or those alone whose folder is
// called so, whose key begins so, whose describe() is it or else contains it. Errors: nothing in
// the run has items, or nothing that `node` names; with what there is.
Result<std::vector<ItemTask>> item_tasks(const RunRecords& run, const std::string& node);

// Those of `task`: its name; of imported items also without metric ("gsm8k:strict-match"), then the
// headline one, and without filter. Errors: an unknown name, with the nearest one.
Result<std::vector<ItemTask>> tasks_named(const std::vector<ItemTask>& tasks,
                                          const std::string& task);
// The same, one alone. Errors: several evaluations or metrics, all named.
Result<ItemTask> the_task_named(const std::vector<ItemTask>& tasks, const std::string& task);

// The place of an item by the source's name, its id, its row (from 1) or the beginning of its id (4
// digits or more), whichever comes first. Errors: none of these (with the range of rows); a
// beginning of several ids.
Result<std::size_t> find_item(const PackedItems& items, const std::string& name);

}  // namespace nb
