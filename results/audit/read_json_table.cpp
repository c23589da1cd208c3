#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/fields.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/table.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/read_table.hpp"
#include "results/audit/table_filler.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

constexpr const char* kSchema = "npubench.table/1";

// The file as it is; README.md explains each member.
struct FileCell {
  std::string task, value;
  std::optional<std::int64_t> n;
  std::optional<double> standard_error;
  Scale scale = Scale::kAccuracy;
  FieldList fields() {
    return {{"task", "as printed", &task, {.required = true}},
            {"value", "the number as printed, as a text", &value, {.required = true}},
            {"n", "items", &n, {.min = 1}},
            {"stderr", "standard error as printed", &standard_error, {.min = 0}},
            {"scale", "what the number is",
             enumerated(&scale, {"accuracy", "centred", "composite", "other"})}};
  }
};
struct FileStage {
  std::string name, group, timestamp;
  std::vector<FileCell> cells;
  std::map<std::string, std::string> facts, settings;
  FieldList fields() {
    return {{"name", "BASE, MID, SFT, RL or the row's name", &name, {.required = true}},
            {"group", "rows that differ in the number of cards only", &group},
            {"timestamp", "when", &timestamp},
            {"cells", "scores", list(&cells)},
            {"facts", "numbers about the training, as printed", &facts},
            {"settings", "settings in words", &settings}};
  }
};
struct FileRun {
  std::string name, device, source, manifest, started, published, first_success;
  std::map<std::string, std::string> facts, settings;
  std::vector<FileStage> stages;
  FieldList fields() {
    return {{"name", "of the column or device", &name, {.required = true}},
            {"device", "as published", &device},
            {"source", "repository@commit:path, or address", &source},
            {"manifest", "hash of the record that shows the run", &manifest},
            {"started", "when the run started", &started},
            {"published", "when the numbers appeared", &published},
            {"first_success", "first step that ran on the device", &first_success},
            {"facts", "numbers of the whole run, as printed", &facts},
            {"settings", "settings in words", &settings},
            {"stages", "columns", list(&stages)}};
  }
};
struct FileClaim {
  ClaimKind kind = ClaimKind::kStatement;
  std::string text, run, against, task, from, to, topic, source;
  double low = 0, high = 0;
  FieldList fields() {
    return {{"kind",
             "what is claimed",
             enumerated(&kind, {"retention", "improves", "statement"}),
             {.required = true}},
            {"text", "as published", &text, {.required = true}},
            {"run", "whose", &run},
            {"against", "retention: of whose scores", &against},
            {"low", "retention: lowest share", &low},
            {"high", "retention: highest share", &high},
            {"task", "improves: which", &task},
            {"from", "improves: stage", &from},
            {"to", "improves: stage", &to},
            {"topic", "statement: about what", &topic},
            {"source", "statement: whose", &source}};
  }
};
struct File {
  std::string schema, about;
  std::vector<std::string> sources;
  std::vector<FileRun> runs;
  std::vector<FileClaim> claims;
  FieldList fields() {
    return {{"schema", "", &schema, {.one_of = {kSchema}, .required = true}},
            {"about", "one sentence", &about},
            {"sources", "where it was published", &sources},
            {"runs", "", list(&runs)},
            {"claims", "", list(&claims)}};
  }
};

Result<Facts> facts_of(const std::map<std::string, std::string>& texts, const std::string& where) {
  Facts facts;
  for (const auto& [name, text] : texts) {
    const FactName* known = fact_named(name);
    if (known == nullptr) {
      std::vector<std::string> names;
      for (const FactName& fact : fact_names()) names.emplace_back(fact.name);
      return bad_input(fmt::format("{}: no fact \"{}\"{}", where, name, did_you_mean(name, names)));
    }
    NB_TRY(facts[name], parse_fact(*known, text, where + ": " + name));
  }
  return facts;
}

Result<ReportedTable> table_of(File file, const std::string& where) {
  ReportedTable table;
  table.name = where;
  table.about = std::move(file.about);
  table.sources = std::move(file.sources);
  for (FileRun& from : file.runs) {
    const std::string of_run = fmt::format("{}: run \"{}\"", where, from.name);
    if (table.run(from.name) != nullptr) return bad_input(of_run + " stands twice");
    ReportedRun run;
    NB_TRY(run.facts, facts_of(from.facts, of_run));
    run.name = std::move(from.name);
    run.device = std::move(from.device);
    run.source = std::move(from.source);
    run.manifest_hash = std::move(from.manifest);
    run.started = std::move(from.started);
    run.published = std::move(from.published);
    run.first_success = std::move(from.first_success);
    run.settings = std::move(from.settings);
    for (FileStage& part : from.stages) {
      const std::string of_stage = fmt::format("{}, \"{}\"", of_run, part.name);
      ReportedStage stage;
      NB_TRY(stage.facts, facts_of(part.facts, of_stage));
      stage.name = std::move(part.name);
      stage.group = std::move(part.group);
      stage.timestamp = std::move(part.timestamp);
      stage.settings = std::move(part.settings);
      for (const FileCell& value : part.cells) {
        NB_TRY(Printed number, parse_printed(value.value, of_stage + ": " + value.task));
        ReportedCell cell = cell_of(value.task, std::move(number), 0);
        if (cell.scale == Scale::kAccuracy) cell.scale = value.scale;
        cell.n = value.n;
        cell.standard_error = value.standard_error;
        if (stage.find(cell.task) != nullptr)
          return bad_input(fmt::format("{}: {} stands twice", of_stage, value.task));
        stage.cells.push_back(std::move(cell));
      }
      run.stages.push_back(std::move(stage));
    }
    table.runs.push_back(std::move(run));
  }
  for (FileClaim& from : file.claims)
    table.claims.push_back({from.kind, std::move(from.text), std::move(from.run),
                            std::move(from.against), from.low, from.high, std::move(from.task),
                            std::move(from.from), std::move(from.to), std::move(from.topic),
                            std::move(from.source)});
  return table;
}

// A number of a JSON file has no digits of its own: the shortest text that reads back as it.
Result<ReportedCell> number_cell(const std::string& label, const Json& value,
                                 const std::string& where) {
  if (!value.is_number()) return bad_input(fmt::format("{}: {} is no number", where, label));
  NB_TRY(Printed number, parse_printed(number_text(value.get<double>()), where + ": " + label));
  return cell_of(label, std::move(number), 0);
}

const Json& member_named(const Json& json, const std::string& key) {
  static const Json kNone;
  const auto at = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && at != json.end() ? *at : kNone;
}

// lm-eval 0.3 and 0.4: {"results": {task: {"acc,none": …, "acc_stderr,none": …}}}.
Result<ReportedTable> lm_eval_table(const Json& json, const std::string& where) {
  ReportedTable table;
  table.name = where;
  ReportedStage& stage = stage_of(table, where, "");
  const Json& results = json.at("results");
  if (!results.is_object()) return bad_input(where + ": /results is not an object");
  for (const auto& [task, metrics] : results.items()) {
    if (!metrics.is_object()) continue;
    for (const auto& [metric, value] : metrics.items()) {
      if (!value.is_number() || metric.find("_stderr") != metric.npos) continue;
      if (!std::isfinite(value.get<double>())) continue;
      const std::string label = task + "/" + metric;
      NB_TRY(ReportedCell cell, number_cell(label, value, where));
      cell.task = label;  // another harness's task of the same name is another measurement
      const std::size_t comma = std::min(metric.find(','), metric.size());
      set_metric(cell, metric.substr(0, comma));
      cell.filter = metric.substr(std::min(comma + 1, metric.size()));
      cell.counts_items = false;
      const auto error = metrics.find(metric.substr(0, comma) + "_stderr" + metric.substr(comma));
      if (error != metrics.end() && error->is_number()) cell.standard_error = error->get<double>();
      const Json& samples =
          member_named(member_named(member_named(json, "n-samples"), task), "effective");
      if (samples.is_number_integer() && samples.get<std::int64_t>() > 0)
        cell.n = samples.get<std::int64_t>();
      stage.cells.push_back(std::move(cell));
    }
  }
  return table;
}

// {"gsm8k": {"accuracy": 0.71, "stderr": 0.01, "n": 1319}, …}: a member a task, as people's own
// scripts write.
bool is_by_task(const Json& json) {
  if (!json.is_object() || json.empty()) return false;
  return std::ranges::all_of(json.items(), [](const auto& task) {
    const Json& metrics = task.value();
    return metrics.is_object() && std::ranges::any_of(metrics.items(), [](const auto& metric) {
             const MetricKind* kind = metric_kind(metric.key());
             return metric.value().is_number() && kind != nullptr &&
                    kind->direction != Direction::kNone;
           });
  });
}

bool is_size(const std::string& name) {
  static constexpr auto kSizes = std::to_array<std::string_view>(
      {"n", "num", "count", "total", "total_count", "num_samples", "n_samples"});
  return std::ranges::find(kSizes, std::string_view(name)) != kSizes.end();
}

Result<ReportedTable> by_task_table(const Json& json, const std::string& where) {
  ReportedTable table;
  table.name = where;
  TableFiller filler(table);
  const TableFiller::Place stage = filler.place(where, "");
  for (const auto& [task, metrics] : json.items()) {
    std::optional<std::int64_t> n;
    for (const auto& [metric, value] : metrics.items())
      if (is_size(metric) && value.is_number_integer() && value.get<std::int64_t>() > 0)
        n = value.get<std::int64_t>();
    for (const auto& [metric, value] : metrics.items()) {
      if (is_size(metric) || metric.ends_with("stderr")) continue;
      if (!value.is_number()) {
        table.ignored.push_back(message("table.no_number", fmt::format("/{}/{}", task, metric)));
        continue;
      }
      NB_TRY(ReportedCell cell, number_cell(task, value, where));
      set_metric(cell, metric);
      cell.n = n;
      for (const std::string& name : {metric + "_stderr", std::string("stderr")})
        if (const auto error = metrics.find(name); error != metrics.end() && error->is_number())
          cell.standard_error = error->get<double>();
      if (filler.find(stage, cell.task) != nullptr) cell.task += "/" + metric;
      filler.add(stage, std::move(cell));
    }
  }
  return table;
}

// DCLM: {"eval_metrics": {"icl": {task: accuracy}}, "Core_v1": …}.
Result<ReportedTable> dclm_table(const Json& json, const std::string& where) {
  ReportedTable table;
  table.name = where;
  ReportedStage& stage = stage_of(table, where, "BASE");
  for (const auto& [task, value] : json.at("eval_metrics").at("icl").items()) {
    NB_TRY(ReportedCell cell, number_cell(task, value, where));
    cell.counts_items = false;  // jeopardy and others are means over categories
    stage.cells.push_back(std::move(cell));
  }
  for (const auto& [member, label] :
       {std::pair{"Core_v1", "CORE"}, std::pair{"Core_v2", "core_v2"}}) {
    const auto value = json.find(member);
    if (value == json.end()) continue;
    NB_TRY(ReportedCell cell, number_cell(label, *value, where));
    cell.scale = Scale::kComposite;
    stage.cells.push_back(std::move(cell));
  }
  return table;
}

// {"arc_easy": 0.63, …}, or what a trainer writes: {"eval_loss": 2.1, "eval_accuracy": 0.7, …}.
// Beside metrics a name that nobody knows is no task, so its number is shown only.
Result<ReportedTable> flat_table(const Json& json, const std::string& where) {
  ReportedTable table;
  table.name = where;
  ReportedStage& stage = stage_of(table, where, "");
  for (const auto& [task, value] : json.items()) {
    if (value.is_null()) continue;
    if (value.is_string() || value.is_boolean()) {
      stage.settings[task] = value.is_string() ? value.get<std::string>() : value.dump();
      continue;
    }
    if (!value.is_number()) {
      table.ignored.push_back(message("table.no_text", task));
      continue;
    }
    NB_TRY(ReportedCell cell, number_cell(task, value, where));
    set_aside_if_no_share(cell);
    stage.cells.push_back(std::move(cell));
  }
  const auto has_metric = [](const ReportedCell& cell) { return !cell.metric.empty(); };
  if (std::ranges::any_of(stage.cells, has_metric))
    for (ReportedCell& cell : stage.cells)
      if (cell.metric.empty() && cell.scale == Scale::kAccuracy &&
          find_known_task(cell.task) == nullptr)
        set_metric(cell, cell.label);
  return table;
}

// A score's name that is neither a task's nor a size's ("num_layers" of a model's configuration).
bool names_score(const std::string& name) {
  if (known_task_named(name) != nullptr || !composite_named(name).empty()) return true;
  const MetricKind* kind = metric_kind(name);
  return kind != nullptr && kind->direction != Direction::kNone &&
         kind->quantity != Quantity::kCount;
}

// All numbers; or, with texts between them, one at least that is a score by its name.
bool is_flat(const Json& json) {
  if (!json.is_object() || json.empty()) return false;
  const auto all = json.items();
  if (std::ranges::all_of(
          all, [](const auto& item) { return item.value().is_number() || item.value().is_null(); }))
    return true;
  return std::ranges::any_of(
      all, [](const auto& item) { return item.value().is_number() && names_score(item.key()); });
}

Result<ReportedTable> any_table(const Json& json, const std::string& where) {
  if (json.is_object() && json.contains("schema")) {
    NB_TRY(File file, parse_struct<File>(json, where));
    return table_of(std::move(file), where);
  }
  if (json.is_object() && json.contains("results")) return lm_eval_table(json, where);
  const Json::json_pointer icl("/eval_metrics/icl");
  if (json.is_object() && json.contains(icl) && json.at(icl).is_object())
    return dclm_table(json, where);
  if (is_flat(json)) return flat_table(json, where);
  if (is_by_task(json)) return by_task_table(json, where);
  return bad_input(
      fmt::format("{}: no table of results: expected \"schema\": \"{}\", lm-eval's \"results\", "
                  "DCLM's \"eval_metrics\", or an object of numbers by task or metric",
                  where, kSchema));
}

}  // namespace

Result<ReportedTable> parse_json_table(std::string_view text, const std::string& where) {
  NB_TRY(const Json json, parse_json(text, where));
  NB_TRY(ReportedTable table, any_table(json, where));
  NB_TRY_VOID(finish_cells(table));
  NB_TRY_VOID(table.claims.empty() ? needs_numbers(table) : Result<void>());
  return table;
}

}  // namespace nb
