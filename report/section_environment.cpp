// On what this ran.
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "report/sections.hpp"

namespace nb {
namespace {

// "/code/components/model~1gpt" for people: JSON pointers write a slash in a name as ~1.
std::string field_name(std::string pointer) {
  for (std::size_t at = pointer.find("~1"); at != std::string::npos; at = pointer.find("~1", at))
    pointer.replace(at, 2, "/");
  return pointer;
}

// Digests of source folders: many, and read only when two runs' codes differ.
bool is_detail(const std::string& field) { return field.starts_with("/code/components/"); }

}  // namespace

std::vector<Block> environment_blocks(const ReportContext& context) {
  // Values that all records share once; those that differ with their count.
  const Words& say = context.say;
  std::map<std::string, std::map<std::string, int>> values;
  int records = 0;
  for (const StoredRecord& stored : context.input.run->records) {
    ++records;
    const Json flat = stored.record.environment->flatten();
    for (const auto& [pointer, value] : flat.items())
      ++values[field_name(pointer)][value.is_string() ? value.get<std::string>() : value.dump()];
  }
  if (values.empty()) return {Paragraph{say("no_environment")}};
  const std::vector<std::string> header = {say("field"), say("value"), say("records")};
  TextTable table{header, {}}, details{header, {}};
  for (const auto& [pointer, seen] : values) {
    TextTable& to = is_detail(pointer) ? details : table;
    if (seen.size() > 3) {  // timestamps and the like
      to.rows.push_back({pointer, fmt::format("{} … {}", seen.begin()->first, seen.rbegin()->first),
                         fmt::format("{}", records)});
      continue;
    }
    for (const auto& [value, count] : seen)
      to.rows.push_back({pointer, value, fmt::format("{}", count)});
  }
  std::vector<Block> blocks;
  if (!table.rows.empty()) blocks.emplace_back(TableBlock{"", std::move(table)});
  if (!details.rows.empty())
    blocks.emplace_back(TableBlock{say("code_digests"), std::move(details), true});
  return blocks;
}

}  // namespace nb
