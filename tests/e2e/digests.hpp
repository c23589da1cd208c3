// Digests of what suites measure, committed in tests/golden/digests.json: a host checks itself
// against every other host that ever ran them. Over the `metrics` of the records alone, so neither
// the host, nor its clock, nor the code digest is in them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace nb::test {

struct SuiteDigest {
  std::string digest;                          // over all records
  std::map<std::string, std::string> records;  // node name → digest of its metrics
};

// Of every record below; a damaged or failed one fails the test.
SuiteDigest metrics_digest(const std::filesystem::path& suite_folder);

// The records that differ, or "".
std::string difference(const SuiteDigest& expected, const SuiteDigest& now);

// The same against the committed digest of that suite. NB_ACCEPT=1 writes it instead (look at the
// difference before committing it: `git diff tests/golden/digests.json` names the nodes).
std::string difference_from_committed(const std::string& suite, const SuiteDigest& now);

}  // namespace nb::test
