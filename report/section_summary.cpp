#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "harness/base/table.hpp"
#include "report/sections.hpp"

namespace nb {

std::vector<Block> summary_blocks(const ReportContext& context) {
  const RunRecords& run = *context.input.run;
  std::vector<Block> blocks;
  if (run.records.empty())
    blocks.emplace_back(
        Paragraph{"This run has no finished record, so there is nothing to report.", true});
  std::vector<std::string> failed;
  std::map<std::string, int> kinds;
  for (const StoredRecord& stored : run.records) {
    ++kinds[stored.record.kind];
    if (stored.record.status != "ok")
      failed.push_back(describe(stored.record) + " failed: " + stored.record.error);
  }
  if (!run.records.empty()) {
    std::string text = count_text(std::ssize(run.records), "record") + ":";
    for (const auto& [kind, count] : kinds)
      text += fmt::format("{} {} {}", text.ends_with(":") ? "" : ",", count, kind);
    blocks.emplace_back(Paragraph{text +
                                  ". Times and memory of emulated devices are simulated (clock "
                                  "sim) unless a table says host."});
  }
  if (!failed.empty() || !run.damaged.empty()) {
    blocks.emplace_back(
        Paragraph{"This report is incomplete: nodes failed or did not finish.", true});
    std::vector<std::string> items = failed;
    items.insert(items.end(), run.damaged.begin(), run.damaged.end());
    blocks.emplace_back(BulletList{items});
  }
  TextTable table{{"kind", "name", "device", "seed", "status", "key", "from"}, {}};
  const auto& reused = context.input.reused;
  for (const StoredRecord& stored : run.records) {
    const Record& r = stored.record;
    const bool is_reused = std::find_if(reused.begin(), reused.end(), [&](const std::string& key) {
                             return !key.empty() && r.node_key.starts_with(key);
                           }) != reused.end();
    Record unseeded = r;
    unseeded.seed.reset();
    table.rows.push_back({r.kind, r.name, r.device.empty() ? "—" : series_title(unseeded),
                          r.seed ? fmt::format("{}", *r.seed) : "—", r.status,
                          r.node_key.substr(0, 8), is_reused ? "store (reused)" : "this run"});
  }
  if (!table.rows.empty()) blocks.emplace_back(TableBlock{"What ran", table});
  if (!run.notes.empty()) blocks.emplace_back(BulletList{run.notes});
  return blocks;
}

}  // namespace nb
