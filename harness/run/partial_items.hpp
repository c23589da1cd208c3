// Items of an evaluation under way, each as one line as soon as it is there, so that a killed
// evaluation resumes at the next item and shards of other processes are found:
// <folder>/partial/<task>.<shard>-of-<shards>.jsonl. Each file has one writer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "evals/evaluate.hpp"
#include "harness/base/result.hpp"
#include "results/items.hpp"

namespace nb {

class PartialItems {
 public:
  PartialItems(std::filesystem::path folder, std::int64_t shard, std::int64_t shards);

  // Of all shards of that task, each item once. A last line that was cut short is not there; in the
  // file of this shard it is cut off, so that the next line begins where it should.
  Result<std::vector<ItemRecord>> read(std::string_view task) const;
  Result<void> append(std::string_view task, const ItemRecord& item) const;
  // Everything, when the record is written.
  Result<void> remove() const;
  // Removes what this process would take up, but not what other shards of the same number have
  // done.
  Result<void> begin_again() const;
  // This shard's items are there: nobody has made a record of them yet.
  bool has_own() const;

  // Sets shard, shards, done and sink. This must outlive the context.
  void attach(EvalContext& context) const;

 private:
  std::filesystem::path file(std::string_view task) const;
  std::string own_ending() const;
  std::vector<std::filesystem::path> files() const;
  std::filesystem::path folder_;
  std::int64_t shard_, shards_;
};

}  // namespace nb
