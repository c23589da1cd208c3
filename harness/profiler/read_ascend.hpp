// Files of ASCEND_PROFILER_OUTPUT and of msprof, each into a rank. They know columns by name, so
// that all levels and ages are read; what a column means is in README.md.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "harness/profiler/profile.hpp"

namespace nb::profiler {

// A table, by its name without time stamp: "kernel_details", "op_summary", …
struct AscendTable {
  std::string_view name;
  // where: for messages. bad_input: not that table, or cut.
  Result<void> (*read)(std::istream& bytes, const std::string& where, Profile& profile, Rank& rank);
};
// Of a file's name: "op_summary_20260511093035.csv" → op_summary; nullptr: none of them.
const AscendTable* ascend_table_of(std::string_view file_name);
// By the header line, for files that were renamed; nullptr: none of them.
const AscendTable* ascend_table_with(std::string_view header_line);

// communication.json and communication_matrix.json.
Result<void> read_communication(std::istream& bytes, const std::string& where, Rank& rank);
Result<void> read_communication_matrix(std::istream& bytes, const std::string& where, Rank& rank);
// profiler_info_N.json, profiler_metadata.json.
Result<void> read_profiler_info(std::istream& bytes, const std::string& where, Rank& rank);
Result<void> read_profiler_metadata(std::istream& bytes, const std::string& where, Rank& rank);
// That rank of the profile; added where there is none.
Rank& rank_of(Profile& profile, std::int64_t number, const std::string& where);
// cluster_communication.json and cluster_communication_matrix.json: groups, steps, operators, then
// ranks or pairs of them. Ranks that the profile lacks are added.
Result<void> read_cluster_communication(std::istream& bytes, const std::string& where,
                                        Profile& profile);
Result<void> read_cluster_matrix(std::istream& bytes, const std::string& where, Profile& profile);
// cluster_step_trace_time.csv: a rank a row.
Result<void> read_cluster_steps(std::istream& bytes, const std::string& where, Profile& profile);

}  // namespace nb::profiler
