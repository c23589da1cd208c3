// Tables of results that others published, with their sources: results/published/*.json, built into
// the program. Claims, not measurements of ours.
#pragma once

#include <span>
#include <string_view>

#include "results/audit/table.hpp"

namespace nb {

struct PublishedFile {
  std::string_view name;  // "seed_result_table"
  std::string_view text;  // the JSON
};
std::span<const PublishedFile> published_files();  // by name
// "seed_result_table", or one run of it as "seed_result_table/NPU". bad_input: no such table, with
// the nearest name; no such run, with those there are.
Result<ReportedTable> read_published(std::string_view name);

}  // namespace nb
