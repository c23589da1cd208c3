// Which nodes ran, and their keys.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "harness/base/table.hpp"
#include "report/sections.hpp"
#include "results/store/node_time.hpp"

namespace nb {
namespace {

constexpr std::int64_t kShortest = 10;  // s in all: below, whole seconds say nothing of shares

std::string seconds_text(std::int64_t seconds) {
  return seconds == 0 ? "0 s" : human_time_ns(1e9 * static_cast<double>(seconds));
}

std::vector<Block> time_blocks(const ReportContext& context) {
  const Words& say = context.say;
  const std::vector<NodeTime> rows = times_by_node(*context.input.run);
  std::int64_t total = 0;
  for (const NodeTime& row : rows) total += row.seconds;
  if (total < kShortest) return {};
  TextTable table{{say("kind"), say("name"), say("nodes"), say("time"), say("share")}, {}};
  for (const NodeTime& row : rows)
    table.rows.push_back({row.kind, row.name, std::to_string(row.nodes), seconds_text(row.seconds),
                          fmt::format("{:.1f} %", 100 * row.share)});
  table.rows.push_back({say("all"), "", "", seconds_text(total), "100.0 %"});
  return {TableBlock{say("where_time_went"), std::move(table)}};
}

}  // namespace

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
  std::ranges::move(time_blocks(context), std::back_inserter(blocks));
  blocks.emplace_back(TableBlock{say("what_ran"), std::move(table)});
  if (!run.notes.empty()) blocks.emplace_back(BulletList{texts_of(run.notes, say.language())});
  return blocks;
}

}  // namespace nb
