// evalscope's totals: reports/<model>/<dataset>.json. What a metric is, schema 2 says itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "results/foreign/lines.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/import/evalscope.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMean = "mean_";  // reports name the mean of "acc" "mean_acc"

// The name of a metric as reviews have it: "acc" for "mean_acc", of releases before 1.0 for
// "AverageAccuracy", of schema 2 for the identity {name: acc, aggregation: mean}. Other
// aggregations of it are totals of their own: "acc:pass_at_k[k=5]".
std::string metric_name(const Json& metric) {
  const Json& identity = member_of(metric, "identity");
  std::string name = text_of(member_of(metric, "name"));
  if (identity.is_object()) {
    name = text_of(member_of(identity, "name"));
    const std::string aggregation = text_of(member_of(identity, "aggregation"));
    if (aggregation == "mean" || aggregation == "identity") return name;
    name += ":" + aggregation;
    std::string dimensions;
    if (const Json& all = member_of(identity, "dimensions"); all.is_object())
      for (const auto& [key, value] : all.items())
        dimensions += fmt::format("{}{}={}", dimensions.empty() ? "" : ",", key, text_of(value));
    return dimensions.empty() ? name : fmt::format("{}[{}]", name, dimensions);
  }
  if (name == "AverageAccuracy") return "acc";
  if (name.starts_with(kMean)) name.erase(0, kMean.size());
  return name;
}

void report_total(ForeignSeries& series, const Json& total) {
  double number = 0;
  if (number_of(member_of(total, "score"), number)) series.reported = number;
  if (const std::int64_t n = count_of(member_of(total, "num")); n > 0) series.reported_n = n;
}

// What schema 2 says of a metric itself: api/metric/semantics.py @ fde259d2.
void say_semantics(ForeignSeries& series, const Json& metric) {
  const Json& semantics = member_of(metric, "semantics");
  if (!semantics.is_object()) return;
  const std::string direction = text_of(member_of(semantics, "direction"));
  if (direction == "higher_is_better") series.direction = Direction::kHigher;
  if (direction == "lower_is_better") series.direction = Direction::kLower;
  if (direction == "none") series.direction = Direction::kNone;
  const std::string unit = text_of(member_of(semantics, "raw_unit"));
  series.unit = unit.ends_with("/s") ? "1/s" : unit;
  double low = 0, high = 0;
  const Json& range = member_of(semantics, "value_range");
  if (!unit.empty() || !number_of(member_of(range, "min"), low) ||
      !number_of(member_of(range, "max"), high) || low != 0)
    return;
  if (high == 1) series.is_share = true;
  if (high == 100) series.unit = unit_of(Quantity::kPoints);
}

// "acc_pass@8" → acc, 8; schema 2: {name: acc, aggregation: pass_at_k, dimensions: {k: 8}}.
struct OfSeveral {
  std::string base;
  std::int64_t k = 0;
};
std::optional<OfSeveral> of_several(const Json& metric) {
  const Json& identity = member_of(metric, "identity");
  if (identity.is_object()) {
    const std::int64_t k = count_of(member_of(member_of(identity, "dimensions"), "k"));
    if (k == 0) return std::nullopt;
    return OfSeveral{text_of(member_of(identity, "name")), k};
  }
  const std::string name = metric_name(metric);
  for (const std::string_view word : {"_pass@", "_pass^", "_vote@"}) {
    const std::size_t at = name.rfind(word);
    if (at == name.npos) continue;
    if (const std::int64_t k = count_of(Json(name.substr(at + word.size()))); k > 0)
      return OfSeveral{name.substr(0, at), k};
  }
  return std::nullopt;
}

// How many samples of a problem the n of each metric counts. Releases up to 1.7 put pass@k of a
// problem on each of its samples and count those (metrics/metric.py @ 13e7fc29, MeanPassAtK), so
// the largest k tells how many there are of each. Schema 2 counts problems for pass@k and samples
// for the mean (metrics/aggregators/aggregators.py @ fde259d2); where both are equal it holds an
// older report.
std::map<std::string, std::int64_t> repeats_in(const Json& metrics) {
  struct Counts {
    std::int64_t k = 0, problems = 0, samples = 0;
    std::vector<std::string> of_k, of_mean;
  };
  std::map<std::string, Counts> by_base;
  for (const Json& metric : metrics) {
    const std::string name = metric_name(metric);
    const std::int64_t n = count_of(member_of(metric, "num"));
    if (const auto several = of_several(metric)) {
      Counts& counts = by_base[several->base];
      counts.k = std::max(counts.k, several->k);
      counts.problems = std::max(counts.problems, n);
      counts.of_k.push_back(name);
    } else {
      by_base[name].samples = n;
      by_base[name].of_mean.push_back(name);
    }
  }
  std::map<std::string, std::int64_t> repeats;
  for (const auto& [base, counts] : by_base) {
    if (counts.k < 2 || std::max(counts.problems, counts.samples) < counts.k) continue;
    const bool counts_problems = counts.samples > counts.problems ||
                                 (counts.samples == 0 && metrics[0].contains("identity"));
    for (const std::string& name : counts.of_k) repeats[name] = counts_problems ? 1 : counts.k;
    for (const std::string& name : counts.of_mean)
      repeats[name] = !counts_problems       ? counts.k
                      : counts.problems == 0 ? 1
                                             : counts.samples / counts.problems;
  }
  return repeats;
}

struct Part {
  std::string name;
  double score = 0;
  std::int64_t n = 0;
};

// Subsets without answers have the score 0 in the file, which is none. Those that sum up others
// (is_aggregate) hold nothing of their own.
struct Parts {
  std::vector<Part> scored;
  std::vector<std::string> empty;
};
Parts parts_of(const Json& metric) {
  Parts parts;
  for (const Json& category : member_of(metric, "categories"))
    for (const Json& subset : member_of(category, "subsets")) {
      if (member_of(subset, "is_aggregate") == true) continue;
      Part part{text_of(member_of(subset, "name")), 0, count_of(member_of(subset, "num"))};
      const bool has_score = number_of(member_of(subset, "score"), part.score);
      if (has_score && part.n > 0) parts.scored.push_back(part);
      if (part.n == 0 && subset.contains("num")) parts.empty.push_back(part.name);
    }
  return parts;
}

constexpr double kRounded = 1.5e-4;  // reports have four decimals, of parts and of their mean

// The total is the mean over answers, in some releases that over subsets; any other mean of them
// lies between the lowest and the highest.
void hold_against_parts(ForeignSeries& series, const Parts& parts, ForeignRun& run,
                        const std::string& file) {
  if (!series.reported || parts.scored.empty()) return;
  double sum = 0, sum_of_subsets = 0, low = parts.scored[0].score, high = low;
  std::int64_t n = 0;
  for (const Part& part : parts.scored) {
    sum += part.score * static_cast<double>(part.n);
    n += part.n;
    sum_of_subsets += part.score;
    low = std::min(low, part.score);
    high = std::max(high, part.score);
  }
  const double total = *series.reported, of_answers = sum / static_cast<double>(n),
               of_subsets = sum_of_subsets / static_cast<double>(parts.scored.size());
  const auto is_total = [&](double mean) { return std::fabs(total - mean) <= kRounded; };
  if (is_total(of_answers) || is_total(of_subsets)) return;
  const std::string what = fmt::format("{}/{}", series.name.task, series.name.metric);
  if (!parts.empty.empty()) {
    run.notes.push_back(message("import.mean_of_answers", what, file, fmt::format("{:.4f}", total),
                                fmt::format("{}", fmt::join(parts.empty, ", ")), n,
                                fmt::format("{:.4f}", of_answers)));
    series.reported = of_answers;
    series.reported_n = n;
  } else if (total < low - kRounded || total > high + kRounded) {
    series.contradiction = message("import.outside_parts", what, file, fmt::format("{:.4f}", total),
                                   fmt::format("{:.4f}", low), fmt::format("{:.4f}", high));
  }
}

// How much of what was asked was answered: execution_summary of schema 2.
Sentence missing_of(const Json& report, const std::string& dataset) {
  const Json& summary = member_of(report, "execution_summary");
  const std::int64_t asked = count_of(member_of(summary, "requested"));
  const std::int64_t answered = count_of(member_of(summary, "succeeded"));
  const auto missing = static_cast<double>(asked - answered);
  if (asked == 0 || missing <= kMissingShare * static_cast<double>(asked)) return {};
  return message("import.answers_there", dataset, answered, asked);
}

}  // namespace

bool is_evalscope_report(const FileHead& head) {
  return head_has_key(head, "dataset_name") && head_has_key(head, "model_name") &&
         head_has_key(head, "metrics");
}

Result<void> read_evalscope_report(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const auto parsed, builder.shared_json(path));
  const Json& report = *parsed;
  const std::string where = path.string();
  const std::string dataset = text_of(member_of(report, "dataset_name"));
  const Json& metrics = member_of(report, "metrics");
  if (!metrics.is_array()) return bad_input(where + ": /metrics: a list is expected");
  ForeignRun& run = builder.run(kEvalscope, text_of(member_of(report, "model_name")));
  if (!builder.is_latest(run, dataset, evalscope_outputs(path), path)) return {};
  run.files.push_back(path);
  const std::string primary = text_of(member_of(report, "primary_metric_identity"));
  const Sentence missing = missing_of(report, dataset);
  const auto repeats = repeats_in(metrics);
  bool is_first = true;
  for (const Json& metric : metrics) {
    const std::string name = metric_name(metric);
    if (name.empty()) return bad_input(where + ": /metrics: a metric without a name");
    const bool is_known =
        std::any_of(run.series.begin(), run.series.end(), [&](const ForeignSeries& one) {
          return one.name == SeriesName{dataset, "", name};
        });
    const auto at = repeats.find(name);
    const auto state = [&](ForeignSeries& series, const Json& total) {
      report_total(series, total);
      say_semantics(series, metric);
      if (at != repeats.end()) series.repeats = at->second;
    };
    ForeignSeries& series = builder.series(run, {dataset, "", name});
    state(series, metric);
    if (!missing.empty()) series.contradiction = missing;
    if (!is_known)
      series.primary =
          primary.empty() ? is_first : primary == text_of(member_of(metric, "identity"));
    is_first = false;
    const Parts parts = parts_of(metric);
    hold_against_parts(series, parts, run, where);
    if (series.repeats > 1 && series.primary)
      run.notes.push_back(message("import.pass_at", dataset, series.reported_n, series.repeats,
                                  series.reported_n / series.repeats));
    const Json& categories = member_of(metric, "categories");
    if (!categories.is_array()) continue;
    for (const Json& category : categories) {
      const Json& subsets = member_of(category, "subsets");
      if (!subsets.is_array()) continue;
      for (const Json& subset : subsets) {
        const std::string subset_name = text_of(member_of(subset, "name"));
        if (subsets.size() == 1 && categories.size() == 1) continue;  // the total again
        if (subset.contains("num") && count_of(member_of(subset, "num")) == 0) continue;
        ForeignSeries& part = builder.series(run, {dataset, subset_name, name});
        state(part, subset);
        part.primary = false;
      }
    }
    if (!parts.empty.empty())
      run.notes.push_back(message("import.no_answers", dataset + "/" + name,
                                  fmt::format("{}", fmt::join(parts.empty, ", "))));
  }
  return {};
}

}  // namespace nb
