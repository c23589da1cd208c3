#include "results/audit/published.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "harness/base/fields.hpp"
#include "results/audit/read_table.hpp"

namespace nb {

namespace {

Result<ReportedTable> one_run(ReportedTable table, std::string_view wanted) {
  std::vector<std::string> names;
  for (const ReportedRun& run : table.runs) names.push_back(run.name);
  std::erase_if(table.runs, [&](const ReportedRun& run) { return run.name != wanted; });
  if (table.runs.empty())
    return bad_input(fmt::format("{} has no run \"{}\"; its runs are {}", table.name, wanted,
                                 fmt::join(names, ", ")));
  table.claims.clear();  // of pairs
  table.name += fmt::format("/{}", wanted);
  return table;
}

}  // namespace

Result<ReportedTable> read_published(std::string_view name) {
  const std::string_view file_name = name.substr(0, name.find('/'));
  const auto files = published_files();
  const auto found = std::ranges::find_if(
      files, [&](const PublishedFile& file) { return file.name == file_name; });
  if (found == files.end()) {
    std::vector<std::string> names;
    for (const PublishedFile& file : files) names.emplace_back(file.name);
    return bad_input(fmt::format("there is no published table \"{}\"{} (npubench list published)",
                                 file_name, did_you_mean(file_name, names)));
  }
  NB_TRY(ReportedTable table,
         parse_json_table(found->text, fmt::format("published:{}", file_name)));
  if (file_name.size() == name.size()) return table;
  return one_run(std::move(table), name.substr(file_name.size() + 1));
}

}  // namespace nb
