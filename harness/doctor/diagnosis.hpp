// Which rank failed first, and why: events of all ranks → the root, and what followed from it.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"
#include "harness/doctor/check.hpp"
#include "harness/doctor/facts.hpp"
#include "harness/doctor/log_scan.hpp"

namespace nb::doctor {

enum class Confidence {
  kCertain,  // a cause that was found itself
  kLikely,   // concluded from what others say
  kUnknown,  // nothing that the table knows is a cause
};
std::string_view name(Confidence confidence);

struct Root {
  LogEvent event;
  Arguments numbers;            // what the line says: {"port","16666"}
  std::optional<Said> verdict;  // of numbers that decide something: out of memory
};
struct Link {
  std::vector<std::string> ranks;  // ascending
  LogEvent event;                  // of the first of them
  std::optional<double> after_s;   // behind the root
  std::string equals;              // "HCCL_CONNECT_TIMEOUT"; empty: no limit that is known
};

struct Diagnosis {
  std::vector<Root> roots;  // several: which was first cannot be told
  std::vector<Said> why;    // of a root that was concluded, and what makes it uncertain
  std::vector<Link> chain;  // in the order of time
  Confidence confidence = Confidence::kUnknown;
  std::vector<LogEvent> unmatched;         // codes that are not in the table
  std::vector<std::string> missing_ranks;  // no log of them
  std::vector<LogEvent> warnings;
  bool empty() const {
    return roots.empty() && unmatched.empty() && chain.empty() && warnings.empty() && why.empty();
  }
};

// facts: ranks (how many there are), limits that an environment sets.
Diagnosis diagnose(const LogReading& reading, const Facts& facts);

std::string text_of(const Diagnosis& diagnosis, Language language);
Json json_of(const Diagnosis& diagnosis, Language language);

}  // namespace nb::doctor
