// incomparable_because (compare.hpp) of many tasks of two records: what all of them ask is found
// once, since a record may have 100,000 tasks. Values; the records may go.
#pragma once

#include <map>
#include <string>

#include "results/message.hpp"
#include "results/record.hpp"

namespace nb {

class ComparableTasks {
 public:
  ComparableTasks(const Record& a, const Record& b);
  // First comparability key that differs and concerns the task, as a sentence; empty: comparable.
  Sentence why_not(const std::string& task = "") const;

 private:
  struct Difference {
    std::string key;
    Sentence sentence;
  };
  std::map<std::string, Difference> first_;  // of each task that has one; "": of the record
};

}  // namespace nb
