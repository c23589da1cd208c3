// A verdict for other programs: JUnit XML for continuous integration, Markdown for a merge request.
// Text and JSON are in gate.hpp; JSON's schema is in results/schemas.md.
#pragma once

#include <string>

#include "results/gate/gate.hpp"

namespace nb {

// One test suite "npubench gate", one test case a verdict (class: the node, name: the metric).
// REGRESSED and SUSPICIOUS are failures, ERROR and INCOMPARABLE errors, "can't tell" is skipped, or
// a failure where the exit code says so (strict). Valid XML 1.0 in UTF-8, whatever the texts hold.
std::string gate_junit(const GateResult& result);

// GitHub's Markdown: the first line bold, then a table of what is not PASS, then one of the rest,
// folded.
std::string gate_markdown(const GateResult& result);

}  // namespace nb
