// What two records must have in common before a number of theirs is compared.
#pragma once

#include <map>
#include <string>

#include "harness/base/json_io.hpp"
#include "results/messages/message.hpp"
#include "results/store/record.hpp"

namespace nb {

// First comparability key that differs, as a sentence; empty: comparable. Keys "<task>/…" of a task
// that the records know concern that task alone; all other keys concern every task and, with an
// empty task, the record.
Sentence incomparable_because(const Record& a, const Record& b, const std::string& task = "");
// The entries of `comparability` that incomparable_because looks at, as an object.
Json comparability_of(const Record& record, const std::string& task);
// The task of a metric: "mw/facts" of "mw/facts/accuracy", "core" of "core".
std::string task_of_metric(const std::string& metric);

// incomparable_because of many tasks of two records: what all of them ask is found once, since a
// record may have 100,000 tasks. Values; the records may go.
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
