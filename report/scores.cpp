#include "report/scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

using Records = std::vector<const StoredRecord*>;

bool ends_as(const std::string& metric, std::string_view last) {
  const std::size_t slash = metric.rfind('/');
  return metric.substr(slash == std::string::npos ? 0 : slash + 1) == last;
}

bool is_composite(const std::string& metric) {
  return ends_as(metric, metric::kCore) || ends_as(metric, "chatcore");
}

// What a task's main number is called: "mw/facts/accuracy", "core", "text/bits_per_byte".
bool is_main(const std::string& metric) {
  return is_composite(metric) || ends_as(metric, metric::kAccuracy) ||
         ends_as(metric, metric::kBitsPerByte);
}

std::vector<std::string> main_metrics(const Record& record) {
  std::vector<std::string> main;
  for (const Metric& metric : record.metrics)
    if (is_score(record, metric.name)) main.push_back(metric.name);
  return main;
}

// Wilson where the record has no interval of its own.
std::optional<Interval> over_items(const Metric& metric) {
  if (metric.low && metric.high) return Interval{*metric.low, *metric.high};
  if (metric.unit != "1" || metric.n <= 0 || *metric.value < 0 || *metric.value > 1)
    return std::nullopt;
  const double right = *metric.value * static_cast<double>(metric.n);
  return wilson(static_cast<std::int64_t>(right + 0.5), metric.n);
}

std::optional<Interval> over_seeds(const std::vector<double>& values) {
  const double m = mean(values), n = static_cast<double>(values.size());
  const double half = student_t_quantile(0.975, n - 1) * sample_sd(values) / std::sqrt(n);
  return Interval{m - half, m + half};
}

ScoreCell cell_of(const Records& seeds, const std::string& metric_name) {
  ScoreCell cell;
  std::vector<double> raw, centred;
  const Metric* first = nullptr;
  for (const StoredRecord* stored : seeds) {
    const Metric* metric = find_metric(stored->record, metric_name);
    if (metric == nullptr || !metric->value) continue;
    if (first == nullptr) first = metric;
    raw.push_back(*metric->value);
    const Metric* c =
        find_metric(stored->record, metric::of_task(task_of_metric(metric_name), metric::kCentred));
    if (c != nullptr && c->value && !is_composite(metric_name)) centred.push_back(*c->value);
  }
  if (raw.empty()) return cell;
  cell.raw = mean(raw);
  cell.unit = first->unit;
  cell.items = is_composite(metric_name) ? 0 : first->n;
  cell.seeds = raw.size();
  cell.interval = raw.size() > 1 ? over_seeds(raw) : over_items(*first);
  if (centred.size() == raw.size()) {
    cell.centred = mean(centred);
    // 1 − a = (1 − r)(1 − c)
    if (*cell.centred < 1) cell.chance = std::max(0.0, 1 - (1 - *cell.raw) / (1 - *cell.centred));
  }
  return cell;
}

struct Model {
  ScoreModel name;
  Records seeds;
  std::vector<std::string> metrics;
};

struct Sided {
  const StoredRecord* stored;
  std::string side;
};

// The run's records. Of foreign results that are compared with others both, side by side.
std::vector<Sided> records_of_both(const ReportInput& input) {
  std::vector<Sided> records;
  std::set<const StoredRecord*> b_side;
  for (const Comparison& c : input.comparisons)
    for (const RecordPair& pair : c.pairs)
      if (pair.imported && c.device_a.empty()) {
        records.push_back({pair.a, "A"});
        records.push_back({pair.b, "B"});
        b_side.insert(pair.b);
      }
  for (const StoredRecord& stored : input.run->records)
    if (!b_side.contains(&stored)) records.push_back({&stored, ""});
  return records;
}

std::vector<Model> models_of(const ReportInput& input) {
  const std::vector<Sided> records = records_of_both(input);
  std::vector<Model> models;
  for (const Sided& sided : records) {
    const StoredRecord* stored = sided.stored;
    const std::string& side = sided.side;
    const Record& r = stored->record;
    const bool own = r.trained_on.empty() || r.trained_on == r.device;
    if (r.kind != "eval" || r.status != "ok" || !own) continue;
    auto metrics = main_metrics(r);
    if (metrics.empty()) continue;
    const auto at = std::ranges::find_if(models, [&](const Model& m) {
      return m.name.name == r.name && m.name.device == r.device && m.name.side == side;
    });
    if (at != models.end()) {
      at->seeds.push_back(stored);
      continue;
    }
    models.push_back({{r.name, r.device, side, stage_rank(r), ""}, {stored}, std::move(metrics)});
  }
  return models;
}

bool names_metric(const std::string& metrics, const std::string& metric) {
  for (std::size_t at = 0; at <= metrics.size();) {
    const std::size_t end = std::min(metrics.find(" = ", at), metrics.size());
    const std::string one = metrics.substr(at, end - at);
    // Tests of items and of scoring name the task alone.
    if (one == metric || one == task_of_metric(metric)) return true;
    at = end + 3;
  }
  return false;
}

// Verdicts on foreign results name the record of the baseline.
std::optional<Verdict> verdict_of(const ReportInput& input, const Records& seeds,
                                  const std::string& metric) {
  const GateResult& gate = *input.gate;
  std::set<std::string> nodes;
  for (const Comparison& c : input.comparisons)
    for (const RecordPair& pair : c.pairs)
      if (pair.imported && std::ranges::find(seeds, pair.b) != seeds.end())
        nodes.insert(describe(pair.a->record));
  for (const StoredRecord* stored : seeds) {
    Record node = stored->record;
    nodes.insert(describe(node));
    node.seed.reset();
    nodes.insert(describe(node));
  }
  std::optional<Verdict> worst;
  for (const TaskVerdict& v : gate.verdicts) {
    if (!nodes.contains(v.where)) continue;
    if (!v.metric.empty() && !names_metric(v.metric, metric)) continue;
    if (!worst || v.verdict > *worst) worst = v.verdict;
  }
  return worst;
}

void add_shown(ScoreCell& cell, const Comparison& c, const ScoreModel& model,
               const std::string& metric) {
  for (const SeedDifference& s : c.seeds)
    if (s.test && s.first_b->record.name == model.name &&
        s.first_b->record.device == model.device && s.first_b->record.trained_on == model.device &&
        s.first_a->record.trained_on == c.device_a &&
        std::ranges::find(s.metrics, metric) != s.metrics.end()) {
      cell.shown = s.shown;
      return;
    }
  for (const RecordPair& pair : c.pairs)
    if (pair.b->record.name == model.name && pair.b->record.device == model.device &&
        (pair.b->record.trained_on.empty() || pair.b->record.trained_on == model.device) &&
        pair.a->record.trained_on != model.device)
      for (const MetricDifference& row : pair.metrics)
        if (row.name == metric) cell.shown = row.shown;
}

// The device comparison that has this model's device as B; the first device is A of all.
const Comparison* comparison_of(const ReportInput& input, const std::string& device) {
  for (const Comparison& c : input.comparisons)
    if (!c.device_b.empty() && c.device_b == device) return &c;
  return nullptr;
}

ScoreTable table_of(const ReportInput& input, const std::vector<const Model*>& models) {
  ScoreTable table;
  std::vector<std::string> metrics;
  for (const bool composites : {false, true})
    for (const Model* model : models)
      for (const std::string& metric : model->metrics)
        if (is_composite(metric) == composites &&
            std::ranges::find(metrics, metric) == metrics.end())
          metrics.push_back(metric);
  for (const std::string& metric : metrics) table.tasks.push_back(task_of_score(metric));
  for (const Model* model : models) {
    const Comparison* c = input.gate ? nullptr : comparison_of(input, model->name.device);
    ScoreModel name = model->name;
    if (c != nullptr) name.against = c->device_a;
    table.models.push_back(name);
    std::vector<ScoreCell>& row = table.cells.emplace_back();
    for (const std::string& metric : metrics) {
      ScoreCell& cell = row.emplace_back(cell_of(model->seeds, metric));
      if (!cell.raw) continue;
      if (input.gate && name.side != "A") cell.verdict = verdict_of(input, model->seeds, metric);
      if (c != nullptr) add_shown(cell, *c, name, metric);
    }
  }
  return table;
}

}  // namespace

bool is_score(const Record& record, const std::string& metric) {
  if (is_imported(record)) {
    const Json& primary = record.settings->at("imported").value("primary", Json::array());
    return std::ranges::any_of(primary, [&](const Json& one) { return one == metric; });
  }
  if (!is_main(metric)) return false;
  const std::string task = task_of_metric(metric);
  return std::ranges::none_of(record.metrics, [&](const Metric& other) {
    return ends_as(other.name, metric::kAccuracy) && other.name != metric &&
           !is_composite(metric) && task.starts_with(task_of_metric(other.name) + "/");
  });
}

std::size_t stage_rank(const Record& record) {
  constexpr std::array<std::string_view, 5> kStages = {"base", "mid", "sft", "dpo", "rl"};
  const auto at = std::ranges::find(kStages, stage_of(record));
  return static_cast<std::size_t>(at - kStages.begin());
}

std::string task_of_score(const std::string& metric) {
  return is_composite(metric) ? metric : task_of_metric(metric);
}

std::vector<ScoreTable> score_tables(const ReportInput& input) {
  std::vector<Model> models = models_of(input);
  std::stable_sort(models.begin(), models.end(), [](const Model& x, const Model& y) {
    return stage_rank(x.seeds.front()->record) < stage_rank(y.seeds.front()->record);
  });
  // Models with a task in common share a table.
  std::vector<std::vector<const Model*>> groups;
  std::vector<std::set<std::string>> tasks;
  for (const Model& model : models) {
    std::size_t g = 0;
    while (g < groups.size() && std::ranges::none_of(model.metrics, [&](const std::string& m) {
             return tasks[g].contains(m);
           }))
      ++g;
    if (g == groups.size()) {
      groups.emplace_back();
      tasks.emplace_back();
    }
    groups[g].push_back(&model);
    tasks[g].insert(model.metrics.begin(), model.metrics.end());
  }
  std::vector<ScoreTable> tables;
  for (const auto& group : groups) tables.push_back(table_of(input, group));
  return tables;
}

namespace {

DifferenceRow row_of(const Record& a, const Record& b) {
  DifferenceRow row;
  row.kind = a.kind;
  row.name = a.name;
  row.stage = stage_rank(a);
  row.trained_on_a = a.trained_on;
  row.trained_on_b = b.trained_on;
  row.device_a = a.device;
  row.device_b = b.device;
  return row;
}

}  // namespace

std::vector<DifferenceRow> difference_rows(const Comparison& c) {
  std::vector<DifferenceRow> rows;
  std::set<std::pair<std::string, std::string>> seeded;
  for (const SeedDifference& s : c.seeds) {
    if (!s.test) continue;
    DifferenceRow row = row_of(s.first_a->record, s.first_b->record);
    row.is_score = is_score(s.first_a->record, s.metrics.front());
    row.node = s.group;
    row.metric = fmt::format("{}", fmt::join(s.metrics, " = "));
    row.unit = s.unit;
    row.direction = s.direction;
    row.a = mean(s.a);
    row.b = mean(s.b);
    row.difference = s.test->difference;
    if (s.test->df > 0) row.interval95 = s.test->interval95;
    row.shown = s.shown;
    row.min_detectable = s.min_detectable();
    row.seed_method = s.method;
    row.seeds = s.a.size();
    row.fixed_weights = s.all_fixed;
    rows.push_back(std::move(row));
    Record unseeded_a = s.first_a->record, unseeded_b = s.first_b->record;
    unseeded_a.seed.reset();
    unseeded_b.seed.reset();
    for (const std::string& metric : s.metrics)
      seeded.insert({describe(unseeded_a) + "|" + describe(unseeded_b), metric});
  }
  for (const RecordPair& pair : c.pairs) {
    Record node_a = pair.a->record, node_b = pair.b->record;
    node_a.seed.reset();
    node_b.seed.reset();
    const std::string key = describe(node_a) + "|" + describe(node_b);
    for (const MetricDifference& m : pair.metrics) {
      if (!m.difference || m.clock == Clock::kHost || seeded.contains({key, m.name})) continue;
      DifferenceRow row = row_of(pair.a->record, pair.b->record);
      row.is_score = is_score(pair.a->record, m.name);
      Record node = pair.a->record;
      if (node.device != pair.b->record.device) node.device = node.trained_on = "";
      row.node = describe(node);
      row.metric = m.name;
      row.unit = m.unit;
      row.direction = m.direction;
      row.clock = m.clock;
      row.a = *m.a;
      row.b = *m.b;
      row.difference = *m.difference;
      row.interval95 = m.interval95;
      row.shown = m.shown;
      row.min_detectable = m.min_detectable;
      row.method = m.method;
      row.seeds = pair.a->record.seed ? 1 : 0;
      row.fixed_weights = pair.fixed_weights;
      row.note = m.note;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<DifferenceRow> own_scores(const Comparison& c) {
  std::vector<DifferenceRow> rows = difference_rows(c);
  std::ranges::stable_sort(rows, {}, &DifferenceRow::stage);
  std::erase_if(rows, [&](const DifferenceRow& row) {
    const bool crossed = (!row.trained_on_a.empty() && row.trained_on_a != row.device_a) ||
                         (!row.trained_on_b.empty() && row.trained_on_b != row.device_b);
    return row.kind != "eval" || crossed || !row.is_score;
  });
  return rows;
}

}  // namespace nb
