// The report for other programs: what stands in it, as values. Names of keys do not change with the
// language. Schema: README.md.
#pragma once

#include "harness/base/json_io.hpp"
#include "report/document.hpp"
#include "report/sections.hpp"

namespace nb {

// Raised when a reader of old reports would misread a new one.
inline constexpr int kReportSchema = 1;

Json report_json(const ReportContext& context, const Document& document);

}  // namespace nb
