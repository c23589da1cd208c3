// What is emulated how, and on what this ran.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "report/sections.hpp"

namespace nb {
namespace {

// "/code/components/model~1gpt" for people: JSON pointers write a slash in a name as ~1.
std::string field_name(std::string pointer) {
  for (std::size_t at = pointer.find("~1"); at != std::string::npos; at = pointer.find("~1", at))
    pointer.replace(at, 2, "/");
  return pointer;
}

}  // namespace

std::vector<Block> numerics_blocks(const ReportContext& context) {
  TextTable table{{"device", "item", "value", "status", "source"}, {}};
  std::vector<std::string> done, silent;
  std::map<std::string, int> status;
  std::set<std::tuple<std::string, std::string, std::string>> shown;
  for (const StoredRecord& stored : context.input.run->records) {
    const Record& r = stored.record;
    if (r.device.empty()) continue;
    if (r.numerics.empty()) {
      if (std::find(silent.begin(), silent.end(), r.device) == silent.end())
        silent.push_back(r.device);
      continue;
    }
    if (std::find(done.begin(), done.end(), r.device) == done.end()) done.push_back(r.device);
    for (const NumericsEntry& entry : r.numerics) {
      // Records of a training and of an evaluation name what decided their own bits.
      if (!shown.insert({r.device, entry.item, entry.value}).second) continue;
      ++status[entry.status];
      table.rows.push_back({r.device, entry.item, entry.value, entry.status, entry.source});
    }
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    return std::find(done.begin(), done.end(), a[0]) < std::find(done.begin(), done.end(), b[0]);
  });
  std::vector<Block> blocks;
  if (!table.rows.empty()) {
    std::string text = "How the emulator performs these devices' arithmetic:";
    for (const char* word : {"documented", "assumed", "not modelled"})
      text += fmt::format(" {} {}{}", status[word], word,
                          std::string(word) == "not modelled" ? "." : ",");
    blocks.emplace_back(Paragraph{text});
    blocks.emplace_back(TableBlock{"", table});
  }
  for (const std::string& device : silent)
    if (std::find(done.begin(), done.end(), device) == done.end())
      blocks.emplace_back(Paragraph{"No numerics card in the records of " + device + "."});
  if (blocks.empty())
    blocks.emplace_back(Paragraph{"No record ran on a device, so there is no numerics card."});
  return blocks;
}

std::vector<Block> environment_blocks(const ReportContext& context) {
  // Values that all records share once; those that differ with their count.
  std::map<std::string, std::map<std::string, int>> values;
  int records = 0;
  for (const StoredRecord& stored : context.input.run->records) {
    ++records;
    const Json flat = stored.record.environment->flatten();
    for (const auto& [pointer, value] : flat.items())
      ++values[field_name(pointer)][value.is_string() ? value.get<std::string>() : value.dump()];
  }
  if (values.empty()) return {Paragraph{"The records say nothing about their environment."}};
  TextTable table{{"field", "value", "records"}, {}};
  for (const auto& [pointer, seen] : values) {
    if (seen.size() > 3) {  // timestamps and the like
      table.rows.push_back({pointer,
                            fmt::format("{} … {}", seen.begin()->first, seen.rbegin()->first),
                            fmt::format("{}", records)});
      continue;
    }
    for (const auto& [value, count] : seen)
      table.rows.push_back({pointer, value, fmt::format("{}", count)});
  }
  return {TableBlock{"", table}};
}

}  // namespace nb
