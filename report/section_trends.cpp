// Headline metrics over the nights of a results folder.
#include <algorithm>
#include <array>
#include <map>

#include "report/sections.hpp"
#include "report/sparkline.hpp"
#include "results/store/history.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// What the first look at a night is for; everything else: npubench history.
bool is_headline(const Record& record, const Metric& metric) {
  constexpr std::array<std::string_view, 3> kSimulated = {metric::kStepTime, metric::kThroughput,
                                                          metric::kPeakMemory};
  if (record.kind == "eval")
    return metric.name.find('/') == std::string::npos || metric.name.ends_with("/accuracy");
  if (record.kind == "train" && metric.name == metric::kValBpb) return true;
  return metric.clock == Clock::kSim &&
         std::find(kSimulated.begin(), kSimulated.end(), metric.name) != kSimulated.end();
}

// Composites first, then tasks, then losses, then the machine.
int order_of(const Record& record, const Metric& metric) {
  if (record.kind == "eval") return metric.name.find('/') == std::string::npos ? 0 : 1;
  return metric.clock == Clock::kSim ? 3 : 2;
}

std::vector<std::string> headline_metrics(const RunRecords& run) {
  std::map<std::string, int> orders;
  for (const StoredRecord& stored : run.records)
    for (const Metric& metric : stored.record.metrics)
      if (is_headline(stored.record, metric))
        orders.emplace(metric.name, order_of(stored.record, metric));
  std::vector<std::string> names;
  for (const auto& [name, order] : orders) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return orders.at(a) < orders.at(b);
  });
  return names;
}

struct Trend {
  std::string metric;
  HistoryGroup group;
};

struct Trends {
  std::vector<Trend> shown;
  std::size_t once = 0;   // metrics with one value so far
  std::size_t older = 0;  // values that may not be compared with the newest
};

// Of the groups of one title the newest; the others may not be compared with it.
void add_trends(Trends& trends, const std::string& metric, const History& history,
                const std::string& sequence) {
  std::map<std::string, const HistoryGroup*> newest;
  for (const HistoryGroup& group : history.groups) {
    if (group.sequence != sequence) continue;
    const HistoryGroup*& kept = newest[title_of(group)];
    const HistoryGroup* other = &group;
    if (kept == nullptr || kept->rows.back().when < group.rows.back().when) std::swap(kept, other);
    if (other != nullptr) trends.older += other->rows.size();
  }
  for (const auto& [title, group] : newest) {
    const auto values = std::count_if(group->rows.begin(), group->rows.end(),
                                      [](const HistoryRow& row) { return row.value; });
    if (values > 1)
      trends.shown.push_back({metric, *group});
    else
      ++trends.once;
  }
}

// "eval base.core on h100_sxm, seeds 1, 2 (nightly)" without the sequence, which all have.
std::string record_text(const HistoryGroup& group) {
  const std::string title = title_of(group);
  return title.substr(0, title.rfind(" ("));
}

std::string direction_text(const Words& say, const HistoryGroup& group, double change) {
  const int judgement = judgement_of(group, change);
  if (judgement == 0) return "";
  return judgement > 0 ? say("cell_better") : say("cell_worse");
}

std::string level_text(const Words& say, const HistoryGroup& group, std::size_t values) {
  const HistoryRow* last = nullptr;
  for (const HistoryRow& row : group.rows)
    if (row.level) last = &row;
  if (last == nullptr) return values < kLeastValues ? say("trend_few") : say("trend_steady");
  const std::string word = direction_text(say, group, last->level->after - last->level->before);
  return say("trend_level_since", plain_value(last->level->before, group.unit),
             plain_value(last->level->after, group.unit), last->run) +
         (word.empty() ? "" : "\n" + word);
}

std::string changed_text(const Words& say, const HistoryRow& row) {
  std::string text;
  for (const std::string& what : row.changed) {
    const std::string word = what == "code" ? say("category_code") : say("category_settings");
    text += (text.empty() ? "" : ", ") + word;
  }
  return text.empty() ? say("trend_unchanged") : say("trend_changed", text);
}

void add_row(TableBlock& block, const Words& say, const Trend& trend) {
  std::vector<double> values;
  std::vector<std::size_t> changes;
  for (const HistoryRow& row : trend.group.rows) {
    if (!row.value) continue;
    if (row.level) changes.push_back(values.size());
    values.push_back(*row.value);
  }
  block.table.rows.push_back({metric::shown_name(trend.metric), record_text(trend.group),
                              std::to_string(values.size()),
                              value_text(values.back(), trend.group.unit),
                              level_text(say, trend.group, values.size()), sparkline_text(values)});
  block.pictures.svgs.push_back(sparkline_svg(values, changes, trend.metric));
}

}  // namespace

std::vector<Block> trend_blocks(const ReportContext& context) {
  const Words& say = context.say;
  if (context.input.nights == nullptr) return {Paragraph{say("no_trends")}};
  const RunIndex& nights = *context.input.nights;
  const std::string sequence = sequence_of(context.input.run->path);
  const HistorySource source(nights);
  Trends trends;
  for (const std::string& metric : headline_metrics(*context.input.run))
    if (const auto history = source.history_of(metric))
      add_trends(trends, metric, *history, sequence);
  const std::string folder = nights.folder().string();
  std::vector<Block> blocks;
  if (trends.shown.empty()) {
    blocks.emplace_back(Paragraph{say("no_other_nights", folder, sequence)});
    return blocks;
  }
  TableBlock table{
      say("trend_caption", folder),
      {{say("metric"), say("node"), say("nights"), say("latest"), say("level"), say("by_night")},
       {}}};
  table.pictures.column = table.table.header.size() - 1;
  BulletList changes;
  for (const Trend& trend : trends.shown) {
    add_row(table, say, trend);
    for (const HistoryRow& row : trend.group.rows) {
      if (!row.level) continue;
      const std::string& unit = trend.group.unit;
      changes.items.push_back(say("trend_level", trend.metric, record_text(trend.group), row.run,
                                  plain_value(row.level->before, unit),
                                  plain_value(row.level->after, unit),
                                  plain_signed(row.level->after - row.level->before, unit),
                                  p_text(row.level->p), changed_text(say, row)));
    }
  }
  blocks.emplace_back(std::move(table));
  blocks.emplace_back(std::move(changes));
  if (trends.once > 0) blocks.emplace_back(Paragraph{say("trend_once", trends.once)});
  if (trends.older > 0) blocks.emplace_back(Paragraph{say("trend_older", trends.older)});
  blocks.emplace_back(CodeBlock{"npubench history METRIC --results-dir " + folder + "\n"});
  return blocks;
}

}  // namespace nb
