#include "report/csv_files.hpp"

#include <fmt/core.h>

#include <utility>

#include "harness/base/csv.hpp"
#include "results/compare/factorial.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

constexpr std::size_t kFlushedBytes = 65'536;

std::string cell(const std::optional<double>& value) {
  return value ? number_text(*value) : std::string();
}
std::string cell(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

CsvFile metrics_file(const RunRecords& run) {
  CsvFile file{"metrics.csv",
               {{"kind", "name", "device", "trained_on", "seed", "metric", "value",
                 "reason_if_null", "unit", "direction", "clock", "n", "low", "high"},
                {}}};
  for (const StoredRecord& stored : run.records) {
    const Record& r = stored.record;
    for (const auto* list : {&r.metrics, &r.host_metrics})
      for (const Metric& m : *list)
        file.table.rows.push_back({r.kind, r.name, r.device, r.trained_on, cell(r.seed), m.name,
                                   cell(m.value), m.reason_if_null, m.unit,
                                   std::string(name(m.direction)), std::string(name(m.clock)),
                                   fmt::format("{}", m.n), cell(m.low), cell(m.high)});
  }
  return file;
}

CsvFile comparison_file(const Comparison& c, std::size_t index) {
  CsvFile file{fmt::format("comparison_{}.csv", index),
               {{"a", "b", "metric", "unit", "clock", "value_a", "value_b", "difference",
                 "relative", "low95", "high95", "p_two_sided", "only_a_right", "only_b_right",
                 "items", "method", "note"},
                {}}};
  for (const RecordPair& pair : c.pairs)
    for (const MetricDifference& m : pair.metrics) {
      const auto count = [&](std::int64_t value) {
        return m.counts ? fmt::format("{}", value) : std::string();
      };
      const PairedCounts counts = m.counts.value_or(PairedCounts{});
      file.table.rows.push_back({describe(pair.a->record), describe(pair.b->record), m.name, m.unit,
                                 std::string(name(m.clock)), cell(m.a), cell(m.b),
                                 cell(m.difference), cell(m.relative),
                                 m.interval95 ? number_text(m.interval95->low) : "",
                                 m.interval95 ? number_text(m.interval95->high) : "",
                                 cell(m.p_two_sided), count(counts.only_a), count(counts.only_b),
                                 count(counts.n()), text_of(m.method), text_of(m.note)});
    }
  return file;
}

CsvFile verdicts_file(const GateResult& gate) {
  CsvFile file{"verdicts.csv",
               {{"verdict", "task", "test", "base", "candidate", "difference", "low95", "high95",
                 "p_worse_holm", "margin", "reason"},
                {}}};
  for (const TaskVerdict& v : gate.verdicts)
    file.table.rows.push_back({std::string(name(v.verdict)), v.task(), v.test, cell(v.a), cell(v.b),
                               cell(v.difference),
                               v.interval95 ? number_text(v.interval95->low) : "",
                               v.interval95 ? number_text(v.interval95->high) : "",
                               cell(v.p_worse_holm), cell(v.margin), text_of(v.reason)});
  return file;
}

CsvFile curves_file(const std::vector<ReportContext::Curve>& curves) {
  CsvFile file{"curves.csv", {{"name", "device", "seed", "step", "column", "value"}, {}}};
  for (const auto& curve : curves) {
    const Record& r = curve.stored->record;
    for (std::size_t c = 0; c < curve.series.columns.size(); ++c)
      for (std::size_t row = 0; row < curve.series.steps.size(); ++row)
        if (const auto& value = curve.series.values[c][row])
          file.table.rows.push_back({r.name, r.device, cell(r.seed),
                                     fmt::format("{}", curve.series.steps[row]),
                                     curve.series.columns[c], number_text(*value)});
  }
  return file;
}

CsvFile effects_file(const Factorial& factorial) {
  CsvFile file{"main_effects.csv",
               {{"node", "metric", "unit", "factor", "effect", "low", "high", "share", "share_low",
                 "share_high"},
                {}}};
  for (const MetricEffects& m : factorial.metrics) {
    const auto add = [&](const std::string& factor, const EffectEstimate& one) {
      const auto bound = [](const std::optional<Interval>& interval, double Interval::*end) {
        return interval ? number_text((*interval).*end) : std::string();
      };
      file.table.rows.push_back(
          {m.node, m.metric, m.unit, factor, number_text(one.value),
           bound(one.interval95, &Interval::low), bound(one.interval95, &Interval::high),
           one.share ? number_text(*one.share) : "", bound(one.share95, &Interval::low),
           bound(one.share95, &Interval::high)});
    };
    for (std::size_t i = 0; i < factorial.factors.size(); ++i)
      add(factorial.factors[i], m.table.effects[i]);
    add(text_of(message("effects.rest")), m.table.rest);
    add("gap", m.table.gap);
  }
  return file;
}

}  // namespace

std::vector<CsvFile> csv_files(const ReportContext& context) {
  std::vector<CsvFile> files = {metrics_file(*context.input.run)};
  for (std::size_t i = 0; i < context.input.comparisons.size(); ++i)
    files.push_back(comparison_file(context.input.comparisons[i], i + 1));
  if (context.input.gate) files.push_back(verdicts_file(*context.input.gate));
  if (const auto factorial = factorial_of(*context.input.run))
    files.push_back(effects_file(*factorial));
  if (!context.curves.empty()) files.push_back(curves_file(context.curves));
  return files;
}

Result<FlipsCsv> FlipsCsv::create(const std::filesystem::path& path) {
  NB_TRY(FileWriter file, FileWriter::create(path));
  FlipsCsv csv(std::move(file));
  csv.text_ = csv_line({"a", "b", "task", "same_weights", "item", "row", "direction", "flip",
                        "gold", "answer_a", "answer_b", "margin_a", "margin_b", "near_tie_limit",
                        "reason_a", "reason_b", "record_a", "record_b"}) +
              "\n";
  return csv;
}

void FlipsCsv::add(const FlipGroup& group, const Flip& f) {
  text_ +=
      csv_line({group.pair_a, group.pair_b, group.task, group.same_weights ? "true" : "false", f.id,
                fmt::format("{}", f.row), f.lost ? "lost" : "won", std::string(name(f.kind)),
                f.gold, f.a, f.b, cell(f.margin_a), cell(f.margin_b), number_text(group.limit),
                f.reason_a, f.reason_b, group.folder_a, group.folder_b}) +
      "\n";
  if (text_.size() >= kFlushedBytes) flush();
}

void FlipsCsv::flush() {
  if (written_) written_ = file_.write(text_);
  text_.clear();
}

Result<void> FlipsCsv::commit() {
  flush();
  NB_TRY_VOID(written_);
  return file_.commit();
}

}  // namespace nb
