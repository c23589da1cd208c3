#include "results/import/to_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/visible_text.hpp"
#include "results/import/any_foreign.hpp"
#include "results/import/complete.hpp"
#include "results/messages/sentences.hpp"
#include "results/stats/stats.hpp"
#include "results/store/curve_columns.hpp"
#include "results/store/item_lines.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/stored_items.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;
using Items = std::map<std::string, PackedItems>;

// A reported total is rounded by its source; beyond this it is not the mean of the items.
constexpr double kRoundedTo = 6e-4;

std::string task_of(const SeriesName& name) {
  return name.filter.empty() ? name.task : name.task + ":" + name.filter;
}

Metric metric_of(const ForeignSeries& series, const std::string& name,
                 std::vector<Sentence>& notes) {
  Metric metric;
  metric.name = name;
  metric.task = task_of(series.name);
  metric.unit = series.unit;
  metric.direction = series.direction.value_or(Direction::kNone);
  if (series.items.empty()) {
    metric.value = series.reported;
    metric.n = series.reported_n / std::max<std::int64_t>(series.repeats, 1);
    if (!metric.value) metric.reason_if_null = "the source states no value";
    if (metric.value && series.reported_stderr) {
      metric.low = *metric.value - kZ95 * *series.reported_stderr;
      metric.high = *metric.value + kZ95 * *series.reported_stderr;
    } else if (metric.value && metric.n > 0 && series.is_share && *metric.value >= 0 &&
               *metric.value <= 1) {
      const Interval interval =
          wilson(std::llround(*metric.value * static_cast<double>(metric.n)), metric.n);
      metric.low = interval.low;
      metric.high = interval.high;
    }
    return metric;
  }
  double sum = 0;
  std::int64_t right = 0;
  bool fractional = false;
  for (const ItemRecord& item : series.items) {
    sum += score_of(item);
    right += item.ok ? 1 : 0;
    fractional = fractional || item.value.has_value();
  }
  metric.n = static_cast<std::int64_t>(series.items.size());
  metric.value = sum / static_cast<double>(metric.n);
  if (!fractional) {
    const Interval interval = wilson(right, metric.n);
    metric.low = interval.low;
    metric.high = interval.high;
  }
  const double scale = std::max(1.0, std::fabs(*metric.value));
  if (series.reported && std::fabs(*series.reported - *metric.value) > kRoundedTo * scale)
    notes.push_back(message("import.other_mean", name, fmt::format("{:.4f}", *series.reported),
                            metric.n, fmt::format("{:.4f}", *metric.value)));
  return metric;
}

// What a comparison must know of a series beside its value: imported_rows.cpp reads it.
Json facts_of(const ForeignSeries& series, const std::set<SeriesName>& names) {
  Json facts = Json::object();
  if (series.is_share) facts["share"] = true;
  if (series.items.empty() && series.reported_stderr && *series.reported_stderr > 0)
    facts["standard_error"] = *series.reported_stderr;
  if (series.tolerance) facts["tolerance"] = *series.tolerance;
  if (!series.contradiction.empty()) add_message(facts, "contradiction", series.contradiction);
  const SeriesName group = {series.part_of, series.name.filter, series.name.metric};
  if (!series.part_of.empty() && names.contains(group)) facts["part_of"] = item_key(group);
  return facts;
}

Json settings_of(const ForeignRun& run) {
  Json imported = {{"harness", run.harness}};
  if (!run.model.empty()) imported["model"] = run.model;
  if (!run.stage.empty()) imported["stage"] = run.stage;
  for (const auto& [key, value] : run.provenance) imported[key] = value;
  imported["primary"] = Json::array();
  for (const ForeignSeries& series : run.series) {
    if (series.primary) imported["primary"].push_back(item_key(series.name));
  }
  std::set<SeriesName> names;
  for (const ForeignSeries& series : run.series) names.insert(series.name);
  for (const ForeignSeries& series : run.series)
    if (Json facts = facts_of(series, names); !facts.empty())
      imported["series"][item_key(series.name)] = std::move(facts);
  for (const CurveColumn& column : run.curve.columns)
    if (column.not_finite_from)  // steps.csv has no place for it
      imported["not_finite_from"][column.name] = *column.not_finite_from;
  return {{"imported", imported}};
}

// "a b" and "a_b" have one file name. uses: of each, how many have asked for it.
std::string free_name(const std::string& file, const std::map<std::string, std::string>& taken,
                      std::map<std::string, int>& uses) {
  std::string name = file;
  for (int& k = uses.try_emplace(file, 1).first->second; taken.contains(name);)
    name = fmt::format("{}-{}.jsonl", file.substr(0, file.rfind('.')), ++k);
  return name;
}

// Names of files, and what stands in tables and logs, may be any bytes; records are JSON.
void to_utf8(ForeignRun& run) {
  for (std::string* text : {&run.model, &run.stage, &run.label, &run.harness})
    *text = utf8_text(std::move(*text));
  std::map<std::string, std::string> provenance;
  for (auto& [key, value] : run.provenance)
    provenance[utf8_text(key)] = utf8_text(std::move(value));
  run.provenance = std::move(provenance);
  for (ForeignSeries& series : run.series) {
    for (std::string* text : {&series.name.task, &series.name.filter, &series.name.metric,
                              &series.part_of, &series.unit})
      *text = utf8_text(std::move(*text));
    for (auto& [key, value] : series.must_match) value = utf8_text(std::move(value));
  }
  for (Metric& metric : run.metrics) metric.name = utf8_text(std::move(metric.name));
  for (CurveColumn& column : run.curve.columns) column.name = utf8_text(std::move(column.name));
}

// Takes the run's items.
StoredRecord record_of(ForeignRun& run, const fs::path& path, std::vector<Sentence>& notes) {
  StoredRecord stored;
  Record& record = stored.record;
  stored.folder = path;
  record.kind = "eval";
  record.name = run.model;
  for (const std::string& part : {run.needs_label ? run.label : "", run.stage})
    if (!part.empty()) record.name += (record.name.empty() ? "" : ".") + part;
  if (record.name.empty()) record.name = run.harness;
  record.settings = settings_of(run);
  if (!run.model.empty()) record.subject["model"] = run.model;
  Items items;
  std::map<std::string, int> uses;
  std::string key_text = record.kind + record.name +
                         record.settings->dump(-1, ' ', false, Json::error_handler_t::replace);
  for (ForeignSeries& series : run.series) {
    const std::string task = task_of(series.name);
    const std::string name = item_key(series.name);
    record.metrics.push_back(metric_of(series, name, notes));
    if (!series.contradiction.empty()) notes.push_back(series.contradiction);
    for (const auto& [key, value] : series.must_match)
      record.comparability[task + "/" + key] = value;
    if (series.items.empty()) continue;
    const std::string file = free_name(items_file(name), record.artifacts, uses);
    record.items[name] = file;
    Sha256 hash;
    const auto written =
        for_each_item_line(series.items, [&](std::string_view line) { hash.update(line); });
    NB_CHECK(written, "the builder gives items a name each and finite numbers");
    record.artifacts[file] = hash.hex();
    key_text += file + record.artifacts[file];
    items[name] = std::move(series.items);
  }
  for (const Metric& metric : run.metrics)
    (metric.clock == Clock::kHost || metric.clock == Clock::kDevice ? record.host_metrics
                                                                    : record.metrics)
        .push_back(metric);
  if (run.series.empty()) record.kind = "train";
  for (const auto* metrics : {&record.metrics, &record.host_metrics})
    for (const Metric& metric : *metrics)
      key_text += fmt::format("{} {}", metric.name, metric.value.value_or(0));
  if (!run.curve.empty()) {
    const auto text = curve_csv(run.curve, path.string());
    NB_CHECK(text, "the readers give rising steps");
    record.artifacts[metric::kSeriesFile] = sha256_hex(*text);
    key_text += record.artifacts[metric::kSeriesFile];
    stored.curve = std::make_shared<const Curve>(std::move(run.curve));
  }
  record.node_key = sha256_hex(key_text);
  stored.items = std::make_shared<const Items>(std::move(items));
  return stored;
}

Result<void> write_packed(const fs::path& path, const PackedItems& items) {
  std::string text;
  NB_TRY_VOID(for_each_item_line(items, [&](std::string_view line) { text += line; }),
              path.string());
  return write_file(path, text);
}

// One sentence for all runs that it concerns.
void add_notes(const std::vector<std::pair<std::string, Sentence>>& said,
               std::vector<Sentence>& notes) {
  std::map<std::string, std::size_t> runs;
  for (const auto& [record, sentence] : said) ++runs[text_of(sentence)];
  for (const auto& [record, sentence] : said) {
    const std::size_t count = std::exchange(runs[text_of(sentence)], 0);
    if (count == 0) continue;  // said already
    const Sentence who = count > 1 ? message("list.and_more", record, count - 1) : verbatim(record);
    notes.push_back(message("about", who, sentence));
  }
}

}  // namespace

std::string item_key(const SeriesName& name) {
  const std::string task = task_of(name);
  return task.empty() ? name.metric : task + "/" + name.metric;
}

RunRecords records_of(ForeignResults results) {
  RunRecords records;
  records.path = results.path;
  std::vector<std::pair<std::string, Sentence>> said;  // record, sentence
  for (ForeignRun& run : results.runs) {
    to_utf8(run);
    complete_totals(run);
    records.records.push_back(record_of(run, results.path, records.notes));
    for (const Sentence& note : run.notes)
      said.emplace_back(records.records.back().record.name, note);
  }
  add_notes(said, records.notes);
  records.notes.insert(records.notes.end(), results.ignored.begin(), results.ignored.end());
  return records;
}

Result<RunRecords> read_any_run(const fs::path& path) {
  std::error_code error;
  const bool is_published = is_published_path(path);
  // The start of a key, or a clear error.
  if (!is_published && !fs::exists(path, error)) return read_run(path);
  if (is_published || fs::is_regular_file(path, error)) {
    NB_TRY(ForeignResults results, read_any_foreign(path));
    return records_of(std::move(results));
  }
  auto run = read_run(path);
  if (run) return run;
  auto foreign = read_any_foreign(path);
  if (!foreign) {
    // A folder of neither kind: both say why.
    return bad_input(fmt::format("{}; {}", run.error().message, foreign.error().message));
  }
  return records_of(std::move(*foreign));
}

Result<void> write_import(const ForeignResults& results, const fs::path& folder) {
  const RunRecords run = records_of(results);
  std::vector<std::string> names;
  for (const StoredRecord& stored : run.records) {
    const fs::path node = node_folder(folder.parent_path(), folder.filename().string(),
                                      stored.record.name, stored.record.node_key);
    for (const auto& [name, items] : *stored.items)
      NB_TRY_VOID(write_packed(node / stored.record.items.at(name), items));
    if (stored.curve) {
      NB_TRY(const std::string text, curve_csv(*stored.curve, stored.record.name));
      NB_TRY_VOID(write_file(node / metric::kSeriesFile, text));
    }
    NB_TRY_VOID(write_record(node, stored.record));
    names.push_back(node.filename().string());
  }
  return write_run_list(folder, names);
}

}  // namespace nb
