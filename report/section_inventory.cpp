// Which nodes ran, and their keys.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "report/sections.hpp"

namespace nb {

std::vector<Block> inventory_blocks(const ReportContext& context) {
  const Words& say = context.say;
  const RunRecords& run = *context.input.run;
  if (run.records.empty()) return {Paragraph{say("no_records")}};
  std::map<std::string, int> kinds;
  for (const StoredRecord& stored : run.records) ++kinds[stored.record.kind];
  std::string counts;
  for (const auto& [kind, count] : kinds)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, kind);
  std::vector<Block> blocks = {
      Paragraph{say("inventory", say.count("n_records", std::ssize(run.records)), counts)}};
  TextTable table{{say("kind"), say("name"), say("device"), say("seed"), say("status"), say("key"),
                   say("from")},
                  {}};
  const auto& reused = context.input.reused;
  for (const StoredRecord& stored : run.records) {
    const Record& r = stored.record;
    const bool is_reused = std::ranges::any_of(reused, [&](const std::string& key) {
      return !key.empty() && r.node_key.starts_with(key);
    });
    Record unseeded = r;
    unseeded.seed.reset();
    table.rows.push_back({r.kind, r.name, r.device.empty() ? "—" : series_title(say, unseeded),
                          r.seed ? fmt::format("{}", *r.seed) : "—", r.status,
                          r.node_key.substr(0, 8),
                          is_reused ? say("from_store") : say("from_this_run")});
  }
  blocks.emplace_back(TableBlock{say("what_ran"), std::move(table)});
  std::vector<std::string> notes;
  for (const std::string& note : run.notes) notes.push_back(say.sentence(note));
  if (!notes.empty()) blocks.emplace_back(BulletList{std::move(notes)});
  return blocks;
}

}  // namespace nb
