// One evaluation under way: settings, where data are, which part of the items is this process's,
// what is there already, where records go. A plain value; nothing here but settings and data can
// change a result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/eval_settings.hpp"
#include "evals/base/scorer_fault.hpp"
#include "harness/base/result.hpp"
#include "model/data/microworld.hpp"
#include "results/store/items.hpp"

namespace nb {

struct EvalContext {
  EvalSettings settings;
  std::filesystem::path data_dir;
  // What the user's own files held when the node's key was made (digests_of); a file that changed
  // since is an error. Empty: not known.
  std::map<std::string, std::string> file_digests;
  MicroworldSettings microworld;  // of mw/… tasks: the world that the model was trained on
  std::function<ScorerFault(std::string_view task)> fault;  // empty: none
  bool only_looked_at = false;  // items are read for people; nothing is asked or graded
  // Which item the model is asked, and graded by, in place of item i of so many; empty: i itself.
  // Broken on purpose: items and prompts are hashed and named as if i had been asked.
  std::function<std::size_t(std::size_t i, std::size_t items)> asked_instead;
  // Items done of all items of that task and this shard; empty: none.
  std::function<void(std::string_view task, std::int64_t done, std::int64_t total)> progress;

  std::int64_t batch_items =
      32;  // handed to the model together; a matter of memory, not of results
  // This process evaluates the items i with i mod shards = shard; the others may be done already.
  std::int64_t shard = 0;
  std::int64_t shards = 1;
  // Records of this task that exist already (any order, any shard); empty: none. Those whose id or
  // prompt is not of this evaluation are an error.
  std::function<Result<std::vector<ItemRecord>>(std::string_view task)> done;
  // Every new record, as soon as it is there; empty: none.
  std::function<Result<void>(std::string_view task, const ItemRecord& item)> sink;
};

}  // namespace nb
