// Tables from text and findings by rule, for the tests of the audit.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "results/audit/audit.hpp"

namespace nb::test {

ReportedTable table_from(std::string_view text);  // fails the test where it is refused
std::string refusal_of(std::string_view text);    // the sentence; fails the test where it is read
Audit published_audit(std::string_view name);
// Of one rule, in order; of a run only where one is named.
std::vector<Finding> findings_of_rule(const Audit& audit, std::string_view rule,
                                      std::string_view run = "");
// "FAIL A01, FAIL A02, WARN A18" of a run, each once; INFO left out.
std::string verdicts_of(const Audit& audit, std::string_view run = "");
// One run in the JSON form: facts of one stage as "depth": "12", ….
std::string run_with(const std::string& facts, const std::string& run_members = "");
const Json& audit_golden();

}  // namespace nb::test
