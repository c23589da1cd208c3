// Items of an evaluation under way, each as one line as soon as it is there, so that a killed
// evaluation resumes at the next item and shards of other processes are found:
// <folder>/partial/<task>.<shard>-of-<shards>.jsonl. Each file has one writer. A line is the item
// as results/store/items.hpp writes it, behind a checksum of it, the node and the task: one that
// was damaged, or copied from elsewhere, is not there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "evals/evaluate.hpp"
#include "harness/base/result.hpp"
#include "results/store/items.hpp"

namespace nb {

class PartialItems {
 public:
  // node_key: whose items they are. warn: gets a sentence for each file with lines of no use.
  PartialItems(std::filesystem::path folder, std::string node_key, std::int64_t shard,
               std::int64_t shards, std::function<void(const std::string&)> warn);

  // Of all shards of that task, each item once. Lines that were cut short or damaged are not there;
  // from the file of this shard they are removed, so that the next line begins where it should.
  Result<std::vector<ItemRecord>> read(std::string_view task) const;
  Result<void> append(std::string_view task, const ItemRecord& item) const;
  // Everything, when the record is written.
  Result<void> remove() const;
  // Removes what this process would take up, but not what other shards of the same number have
  // done.
  Result<void> begin_again() const;
  // What stands in front of an item's line (without its end), and a space.
  std::string checksum(std::string_view task, std::string_view item) const;
  // This shard's items are there: nobody has made a record of them yet.
  bool has_own() const;

  // Sets shard, shards, done and sink. This must outlive the context.
  void attach(EvalContext& context) const;

 private:
  struct Lines {
    std::string good;  // whole lines, as they are in the file
    std::vector<ItemRecord> items;
    std::size_t total = 0, damaged = 0;
  };
  Result<Lines> lines_of(std::string_view task, const std::filesystem::path& path,
                         std::string_view text) const;
  std::filesystem::path file(std::string_view task) const;
  std::string own_ending() const;
  std::vector<std::filesystem::path> files() const;
  std::filesystem::path folder_;
  std::string node_key_;
  std::int64_t shard_, shards_;
  std::function<void(const std::string&)> warn_;
  mutable std::set<std::filesystem::path> told_;  // read() may be called again
};

}  // namespace nb
