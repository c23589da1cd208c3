// What an evaluation returns: metrics, one record per item, and what must be equal before two such
// results may be compared. A plain value in the words of results/store/record.hpp; whoever runs the
// evaluation stores it.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "results/store/items.hpp"
#include "results/store/record.hpp"

namespace nb {

struct EvalResult {
  std::string task;                 // "arc_easy"; a composite's name: "core"
  std::vector<Metric> metrics;      // each with this task
  std::vector<ItemRecord> items;    // in the order evaluated; empty for composites
  std::int64_t items_expected = 0;  // of all shards; with fewer items there are no metrics
  // "<task>/items", "<task>/prompts", … and, equal for all tasks of one evaluation, "tokenizer".
  std::map<std::string, std::string> comparability;

  std::map<std::string, std::string> environment;  // Evaluator::environment

  bool is_complete() const { return std::ssize(items) == items_expected; }
};

// Metrics, comparability and environment of all results, in order, into the record of the node that
// made them. Items stay with the caller, who writes the files.
void add_to_record(std::span<const EvalResult> results, Record& record);

}  // namespace nb
