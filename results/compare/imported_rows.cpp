#include "results/compare/imported_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/portable_math.hpp"
#include "results/compare/gross_change.hpp"
#include "results/messages/sentences.hpp"
#include "results/stats/stats.hpp"
#include "results/stats/stats_unpaired.hpp"
#include "results/store/comparability.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// What the import wrote of a series: to_records.cpp, settings /imported/series.
const Json& series_of(const Record& record, const std::string& metric) {
  static const Json kNone = Json::object();
  const Json& settings = *record.settings;
  const Json::json_pointer at("/imported/series");
  if (!settings.is_object() || !settings.contains(at)) return kNone;
  const Json& all = settings.at(at);
  return all.contains(metric) ? all.at(metric) : kNone;
}

// Empty: none. Imports of before messages were values have its text alone.
Sentence contradiction_of(const Json& series) {
  if (series.contains("contradiction_message"))
    if (Sentence known = message_from(series.at("contradiction_message")); !known.empty())
      return known;
  return series.contains("contradiction") ? verbatim(series.at("contradiction").get<std::string>())
                                          : Sentence();
}

bool is_primary(const Record& record, const std::string& metric) {
  const Json& settings = *record.settings;
  const Json::json_pointer at("/imported/primary");
  if (!settings.is_object() || !settings.contains(at)) return true;
  const Json& names = settings.at(at);
  return std::find(names.begin(), names.end(), Json(metric)) != names.end();
}

// Of the side's harness; empty: a table that somebody wrote, or a record of ours.
std::string harness_of(const Record& record) {
  const Json::json_pointer at("/imported/harness");
  if (!record.settings->is_object() || !record.settings->contains(at)) return {};
  const auto name = record.settings->at(at).get<std::string>();
  return name == "reported table" || name == "CSV" ? "" : name;
}

void set_counts(MetricDifference& row, const PairedCounts& counts) {
  row.counts = counts;
  row.method = message("method.items");
  row.interval95 = newcombe_paired(counts);
  row.interval90 = newcombe_paired(counts, kZ90);
  row.p_two_sided = mid_p_two_sided(counts.only_a, counts.only_b);
  row.min_detectable = paired_min_detectable(counts);
}

void set_normal(MetricDifference& row, double standard_error, Sentence method) {
  if (!(standard_error > 0)) return;
  const double d = *row.difference;
  row.method = std::move(method);
  row.standard_error = standard_error;
  row.interval95 = Interval{d - kZ95 * standard_error, d + kZ95 * standard_error};
  row.interval90 = Interval{d - kZ90 * standard_error, d + kZ90 * standard_error};
  row.p_two_sided = 2 * pm::normal_cdf(-std::fabs(d) / standard_error);
  row.min_detectable = kZPower80 * standard_error;
}

// The values of an imported row are those of the items that both sides scored.
void add_items(MetricDifference& row, const ItemComparison& items) {
  const std::int64_t n = items.counts.n();
  if (!items.error.empty()) {
    row.note = verbatim(items.error);
    return;
  }
  if (n == 0) {
    row.difference.reset();
    row.relative.reset();
    row.incomparable = true;
    row.note = message("row.no_common_item");
    return;
  }
  row.n = n;
  row.a = items.mean_a;
  row.b = items.mean_b;
  row.difference = items.mean_b - items.mean_a;
  row.relative.reset();
  if (items.mean_a != 0) row.relative = *row.difference / std::fabs(items.mean_a);
  if (items.only_a > 0 || items.only_b > 0)
    row.note = message("row.part_of_items", n, items.only_a, items.only_b);
  if (!items.fractions) {
    set_counts(row, items.counts);
    return;
  }
  const MeanTest& test = *items.fractions;
  row.method = message("method.fractions", items.bootstrap->replicates);
  if (!(test.standard_error > 0)) {  // every score moved alike, mostly by nothing
    if (*row.difference == 0) append(row.note, message("row.equal_marks", n));
    row.p_two_sided = test.p_two_sided;
    return;
  }
  row.standard_error = test.standard_error;
  row.interval95 = items.bootstrap->bca95;
  row.interval90 = test.interval90;
  row.p_two_sided = test.p_two_sided;
  row.min_detectable = min_detectable(test.standard_error, test.df);
}

// Two independent samples: by the standard errors that the sources state, else shares of n items.
void add_totals(MetricDifference& row, const RecordPair& pair, const Metric& a, const Metric& b) {
  const auto stated = [&](const Record& record) {
    const Json& series = series_of(record, row.name);
    return series.contains("standard_error") ? series.at("standard_error").get<double>() : 0.0;
  };
  const bool shares =
      row.is_share && *a.value >= 0 && *a.value <= 1 && *b.value >= 0 && *b.value <= 1;
  double se_a = stated(pair.a->record), se_b = stated(pair.b->record);
  // One side alone says how many: it is the same task, so the other had as many.
  const std::int64_t n_a = a.n > 0 ? a.n : b.n, n_b = b.n > 0 ? b.n : a.n;
  if (row.n == 0) row.n = n_a;
  if (!(se_a > 0 || se_b > 0) && shares && n_a > 0) {
    const UnpairedTest test = unpaired_shares(*a.value, n_a, *b.value, n_b);
    row.method = message("method.totals");
    row.interval95 = newcombe_unpaired(*a.value, n_a, *b.value, n_b);
    row.interval90 = newcombe_unpaired(*a.value, n_a, *b.value, n_b, kZ90);
    row.p_two_sided = test.p_two_sided;
    row.standard_error = (row.interval95->high - row.interval95->low) / (2 * kZ95);
    row.min_detectable = kZPower80 * *row.standard_error;
    return;
  }
  // One side states its error: the other, of the same task, is taken to have the same.
  if ((se_a > 0) != (se_b > 0)) se_a = se_b = std::max(se_a, se_b);
  if (se_a > 0 && se_b > 0)
    set_normal(row, std::sqrt(se_a * se_a + se_b * se_b), message("method.totals"));
}

// Both sides' values without any error: only what no noise explains.
void add_gross(MetricDifference& row) {
  if (row.interval95 || row.p_two_sided || row.direction == Direction::kNone) return;
  const auto gross = gross_change(*row.a, *row.b, row.unit, row.is_share);
  if (gross && gross->is_beyond) row.gross = gross->bound;
}

double better_by(const MetricDifference& row) {
  return row.direction == Direction::kLower ? -*row.difference : *row.difference;
}

// Groups: what a row of MMLU says when its chance is that of its 57 subjects.
constexpr int kDeepest = 8;  // groups in groups; a file may say that each holds the other

std::vector<const MetricDifference*> leaves_of(const RecordPair& pair, const std::string& group,
                                               int depth = 0) {
  std::vector<const MetricDifference*> leaves;
  if (depth == kDeepest) return leaves;
  for (const MetricDifference& row : pair.metrics) {
    if (row.part_of != group || row.name == group) continue;
    const bool is_group = std::ranges::any_of(
        pair.metrics, [&](const auto& other) { return other.part_of == row.name; });
    if (!is_group) {
      leaves.push_back(&row);
      continue;
    }
    const auto below = leaves_of(pair, row.name, depth + 1);
    leaves.insert(leaves.end(), below.begin(), below.end());
  }
  return leaves;
}

double paired_variance(const PairedCounts& c) {
  const double n = static_cast<double>(c.n()), flips = static_cast<double>(c.only_a + c.only_b),
               net = static_cast<double>(c.only_b - c.only_a);
  return (flips - net * net / n) / (n * n);
}

// A group's total is the mean of its items or the mean of its parts: what it states tells which.
constexpr double kSameMean = 2e-3;

void add_group(MetricDifference& group, const RecordPair& pair) {
  if (!group.difference) return;
  const auto parts = leaves_of(pair, group.name);
  if (parts.size() < 2) return;
  const bool counted =
      std::ranges::all_of(parts, [](const auto* part) { return part->counts.has_value(); });
  const bool measured = std::ranges::all_of(parts, [](const auto* part) {
    return part->difference && part->n > 0 && (part->counts || part->standard_error);
  });
  if (!measured || (group.p_two_sided && !counted)) return;
  PairedCounts sum;
  double items = 0, by_items = 0, by_parts = 0, variance_items = 0, variance_parts = 0;
  for (const MetricDifference* part : parts) {
    const double n = static_cast<double>(part->n);
    const double variance = part->counts ? paired_variance(*part->counts)
                                         : *part->standard_error * *part->standard_error;
    items += n;
    by_items += n * *part->difference;
    by_parts += *part->difference;
    variance_items += n * n * variance;
    variance_parts += variance;
    if (!part->counts) continue;
    sum.both += part->counts->both;
    sum.only_a += part->counts->only_a;
    sum.only_b += part->counts->only_b;
    sum.neither += part->counts->neither;
  }
  const double k = static_cast<double>(parts.size());
  by_items /= items;
  by_parts /= k;
  const double off_items = std::fabs(by_items - *group.difference);
  const double off_parts = std::fabs(by_parts - *group.difference);
  if (std::min(off_items, off_parts) > kSameMean) return;  // another mean than these
  const bool is_pooled = off_items <= off_parts + 1e-9;    // equal for parts of equal sizes
  if (is_pooled && counted)
    set_counts(group, sum);
  else if (is_pooled)
    set_normal(group, std::sqrt(variance_items) / items, message("method.totals_of_parts"));
  else
    set_normal(group, std::sqrt(variance_parts) / k,
               counted ? message("method.items_of_parts") : message("method.totals_of_parts"));
}

void take_with_parts(const std::string& group, std::vector<MetricDifference>& from,
                     std::vector<bool>& taken, std::vector<MetricDifference>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (taken[i] || from[i].part_of != group) continue;
    taken[i] = true;
    const std::string name = from[i].name;
    to.push_back(std::move(from[i]));
    if (!name.empty()) take_with_parts(name, from, taken, to);
  }
}

// A group stands before its parts.
void order_groups(RecordPair& pair) {
  std::vector<MetricDifference> ordered;
  std::vector<bool> taken(pair.metrics.size());
  take_with_parts("", pair.metrics, taken, ordered);
  for (std::size_t i = 0; i < taken.size(); ++i)  // of a group that is not there
    if (!taken[i]) ordered.push_back(std::move(pair.metrics[i]));
  pair.metrics = std::move(ordered);
}

void settle_row(MetricDifference& row) {
  if (!row.difference || row.clock != Clock::kNone) return;
  if (row.direction == Direction::kNone) {
    row.shown = Shown::kNothing;
    return;
  }
  const Shown side = better_by(row) > 0 ? Shown::kBetter : Shown::kWorse;
  const bool excludes_zero =
      row.interval95 && (row.interval95->low > 0 || row.interval95->high < 0);
  row.shown = Shown::kNotShown;
  if (row.tolerance && better_by(row) >= -*row.tolerance) return;  // its own limit decides
  if (row.p_corrected && *row.p_corrected <= kAlpha && excludes_zero)
    row.shown = side;
  else if (!row.gross.empty())
    row.shown = side;
  else if (row.tolerance && better_by(row) < -*row.tolerance)
    row.shown = Shown::kWorse;
  else if (*row.difference == 0 && !row.counts && !row.standard_error)
    row.shown = Shown::kEqual;
}

}  // namespace

void fill_imported_row(MetricDifference& row, const RecordPair& pair, const ItemComparison* items,
                       const Metric* a, const Metric* b) {
  const Json& left = series_of(pair.a->record, row.name);
  const Json& right = series_of(pair.b->record, row.name);
  row.primary = (a == nullptr || is_primary(pair.a->record, row.name)) &&
                (b == nullptr || is_primary(pair.b->record, row.name));
  row.is_share = left.value("share", false) || right.value("share", false);
  row.part_of = left.value("part_of", right.value("part_of", ""));
  if (left.contains("tolerance")) row.tolerance = left.at("tolerance").get<double>();
  for (const auto& [side, series] : {std::pair("A", &left), std::pair("B", &right)})
    if (Sentence said = contradiction_of(*series); !said.empty() && row.contradiction.empty())
      row.contradiction = message("about", side, std::move(said));
  if (!row.difference) return;
  if (!row.contradiction.empty()) {
    row.difference.reset();
    row.relative.reset();
    row.note = message("row.not_judged", row.contradiction);
    return;
  }
  const std::string asked_a = harness_of(pair.a->record), asked_b = harness_of(pair.b->record);
  if (items == nullptr && row.clock == Clock::kNone && pair.a->record.kind == "eval" &&
      !asked_a.empty() && !asked_b.empty() && asked_a != asked_b) {
    row.difference.reset();
    row.relative.reset();
    row.incomparable = true;
    row.note = message("row.two_harnesses", task_of_metric(row.name), asked_a, asked_b);
    return;
  }
  if (items != nullptr)
    add_items(row, *items);
  else if (a != nullptr && b != nullptr)
    add_totals(row, pair, *a, *b);
  if (row.difference && items == nullptr) add_gross(row);
}

ScoreFamily family_of(const MetricDifference& row) {
  if (row.clock != Clock::kNone || row.direction == Direction::kNone || !row.difference)
    return ScoreFamily::kNone;
  if (!row.primary) return ScoreFamily::kBeside;
  return row.part_of.empty() ? ScoreFamily::kHeadline : ScoreFamily::kParts;
}

void settle_imported(std::vector<RecordPair>& pairs) {
  std::array<std::vector<MetricDifference*>, 4> families;
  for (RecordPair& pair : pairs) {
    if (!pair.imported) continue;
    order_groups(pair);
    for (MetricDifference& row : pair.metrics) add_group(row, pair);
    for (MetricDifference& row : pair.metrics)
      if (row.p_two_sided) families[static_cast<std::size_t>(family_of(row))].push_back(&row);
  }
  for (std::size_t family = 1; family < families.size(); ++family) {
    std::vector<double> p;
    for (const MetricDifference* row : families[family]) p.push_back(*row->p_two_sided);
    const auto corrected = holm(p);
    for (std::size_t i = 0; i < p.size(); ++i) families[family][i]->p_corrected = corrected[i];
  }
  for (RecordPair& pair : pairs)
    if (pair.imported)
      for (MetricDifference& row : pair.metrics) settle_row(row);
}

double p_worse_of(const MetricDifference& row, bool exact) {
  if (row.counts) {
    auto [lost, won] = std::pair(row.counts->only_a, row.counts->only_b);
    if (row.direction == Direction::kLower) std::swap(lost, won);
    return exact ? exact_p_worse(lost, won) : mid_p_worse(lost, won);
  }
  const double half = *row.p_two_sided / 2;
  return better_by(row) < 0 ? half : 1 - half;
}

double p_better_of(const MetricDifference& row, bool exact) {
  MetricDifference turned = row;
  turned.direction = row.direction == Direction::kLower ? Direction::kHigher : Direction::kLower;
  return p_worse_of(turned, exact);
}

}  // namespace nb
