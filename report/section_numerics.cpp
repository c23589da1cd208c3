// What of each device is emulated how.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "report/sections.hpp"

namespace nb {
namespace {

std::string status_text(const Words& say, const std::string& status) {
  if (status == "documented") return say("documented");
  if (status == "assumed") return say("assumed");
  if (status == "not modelled") return say("not_modelled");
  return status;
}

}  // namespace

std::vector<Block> numerics_blocks(const ReportContext& context) {
  const Words& say = context.say;
  TextTable table{{say("device"), say("item"), say("value"), say("status"), say("source")}, {}};
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
      table.rows.push_back(
          {r.device, entry.item, entry.value, status_text(say, entry.status), entry.source});
    }
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    return std::find(done.begin(), done.end(), a[0]) < std::find(done.begin(), done.end(), b[0]);
  });
  std::vector<Block> blocks;
  if (!table.rows.empty()) {
    blocks.emplace_back(Paragraph{
        say("numerics_counts", status["documented"], status["assumed"], status["not modelled"])});
    blocks.emplace_back(TableBlock{"", table});
  }
  for (const std::string& device : silent)
    if (std::find(done.begin(), done.end(), device) == done.end())
      blocks.emplace_back(Paragraph{say("no_card_of", device)});
  if (blocks.empty()) blocks.emplace_back(Paragraph{say("no_card")});
  return blocks;
}

}  // namespace nb
