// What an evaluation returns: metrics, one record an item, and what must be equal before two such results may
// be compared. A plain value; whoever runs the evaluation stores it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/items.hpp"
#include "results/record.hpp"

namespace nb {

struct EvalResult {
  std::string task;              // "arc_easy"; a composite's name: "core"
  std::vector<Metric> metrics;   // named "<task>/accuracy", "<task>/centred"; a composite's is "<task>"
  std::vector<ItemRecord> items; // in the order evaluated; empty for composites
  // Keys: items, prompts, few_shot_seed, shuffle_seed, scorer, baselines, tokenizer, max_per_task, context;
  // a composite has task_set and one "<task>" key each with the hash of that task's map.
  std::map<std::string, std::string> comparability;
};

}  // namespace nb
