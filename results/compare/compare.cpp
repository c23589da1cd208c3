#include "results/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "results/compare/compare_metrics.hpp"
#include "results/compare/confounders.hpp"
#include "results/compare/findings.hpp"
#include "results/compare/imported_rows.hpp"
#include "results/compare/pairing_captured.hpp"
#include "results/compare/scores.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/comparability.hpp"
#include "results/store/curve_columns.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/served.hpp"

namespace nb {
namespace {

constexpr std::size_t kMaxCauses = 4;

// "mw/arc_easy" beside "arc_easy": generated tasks never stand in one row with real ones.
void add_refusals(const Record& a, const Record& b, std::vector<Sentence>& refused) {
  const auto generated_twin = [&](const Record& real, const Record& generated) {
    for (const auto& [task, file] : real.items)
      if (!generated.items.contains(task) && generated.items.contains("mw/" + task))
        refused.push_back(message("pair.generated", describe(real), task, task));
  };
  generated_twin(a, b);
  generated_twin(b, a);
}

// The seed that the settings name: a relabelled record is no twin.
bool equal_seed_in_settings(const Record& a, const Record& b) {
  const auto seed = [](const Record& record) {
    const Json& settings = *record.settings;
    const Json::json_pointer at("/train/seed");
    return settings.is_object() && settings.contains(at) ? settings.at(at) : Json();
  };
  return seed(a) == seed(b);
}

// Node key of a training → the weights that it ended with, of one side.
using TrainedWeights = std::map<std::string, std::string>;

TrainedWeights trained_weights(const RunRecords& run) {
  TrainedWeights trained;
  for (const StoredRecord& stored : run.records) {
    const auto weights = stored.record.subject.find("weights");
    if (stored.record.kind == "train" && weights != stored.record.subject.end())
      trained[stored.record.node_key] = weights->second;
  }
  return trained;
}

struct Sides {
  TrainedWeights a, b;
};

// What a training began with: digest of its parent's weights, "" for weights drawn from the seed;
// nothing where neither the record nor the run says it.
std::optional<std::string> first_weights(const Record& record, const TrainedWeights& trained) {
  if (const auto at = record.subject.find(metric::kParentWeights); at != record.subject.end())
    return at->second;
  for (const std::string& key : record.parents)
    if (const auto parent = trained.find(key); parent != trained.end()) return parent->second;
  const std::string stage = stage_of(record);
  const bool is_first = stage.empty() || stage == "base";
  if (is_first && record.checkpoint->is_null() && !is_imported(record)) return "";
  return std::nullopt;
}

// Curves are compared where both sides trained on one device from the same seed. Whoever began with
// other weights (another BASE) has other losses from the first step on, whatever the procedure.
void add_curves(RecordPair& pair, const Sides& sides, std::vector<std::string>& damaged) {
  const Record &a = pair.a->record, &b = pair.b->record;
  const bool twins = a.kind == "train" && pair.same_device && a.seed == b.seed &&
                     equal_seed_in_settings(a, b) && pair.incomparable.empty();
  if (!twins || pair.bit_identical || a.status != "ok" || b.status != "ok") return;
  if (!a.artifacts.contains(metric::kSeriesFile) || !b.artifacts.contains(metric::kSeriesFile))
    return;
  const auto left = read_curve(*pair.a), right = read_curve(*pair.b);
  if (!left || !right) {
    pair.curve_error = (left ? right : left).error().message;
    damaged.push_back(pair.curve_error);
    return;
  }
  const auto from_a = first_weights(a, sides.a), from_b = first_weights(b, sides.b);
  const bool same_start = from_a && from_b && *from_a == *from_b;
  pair.other_start = !same_start;
  pair.departure = curve_departure(*left, *right, same_start);
  pair.curves_agree =
      same_start && !pair.departure && !left->steps.empty() && !right->steps.empty();
}

// Curves of imported trainings. A column that the recipe fixes and that differs is a setting.
void add_imported_curves(RecordPair& pair, Comparison& comparison) {
  const auto left = stored_curve(*pair.a), right = stored_curve(*pair.b);
  if (!left || !right) {
    pair.curve_error = (left ? right : left).error().message;
    comparison.damaged.push_back(pair.curve_error);
    return;
  }
  if (!*left || !*right) return;
  pair.curves = compare_curves(**left, **right);
  for (const ColumnComparison& column : pair.curves->columns)
    if (column.differs_at)
      add_confounders(comparison.confounders,
                      {{"settings",
                        fmt::format("{} at step {}", column.name, *column.differs_at),
                        fmt::format("{:.6g}", column.exact_a),
                        fmt::format("{:.6g}", column.exact_b),
                        {describe(pair.a->record)}}});
}

// Every score of an imported record has its items: then equal files are equal answers.
bool all_answers_stand_in(const Record& record) {
  return !record.items.empty() && std::ranges::all_of(record.metrics, [&](const Metric& metric) {
    return metric.direction == Direction::kNone || record.items.contains(metric.name);
  });
}

void add_unknown(const Record& a, const Record& b, Comparison& comparison) {
  for (Sentence& sentence : unknown_of(a, b))
    if (std::ranges::find(comparison.unknown, sentence) == comparison.unknown.end())
      comparison.unknown.push_back(std::move(sentence));
}

// A training that a fault ended, planted on purpose (harness/faults): its end says nothing.
bool is_ended_by_fault(const Record& record) {
  const Json device = record.settings->value("device", Json());
  return record.status != "ok" && device.is_object() && device.contains("faults");
}

RecordPair pair_of(const PairedRecords& paired, const Sides& sides, Comparison& comparison) {
  const StoredRecord &a = *paired.a, &b = *paired.b;
  RecordPair pair;
  pair.a = &a;
  pair.b = &b;
  pair.note = paired.note;
  pair.bit_identical = a.record.status == "ok" && same_results(a.record, b.record);
  pair.same_key = !a.record.node_key.empty() && a.record.node_key == b.record.node_key;
  pair.incomparable = incomparable_because(a.record, b.record);
  pair.fixed_weights = a.record.kind == b.record.kind && has_same_weights(a.record, b.record);
  pair.imported = is_imported(a.record) || is_imported(b.record);
  // Equal totals are not equal answers, and another file with equal settings is no promise of bits.
  if (pair.imported) pair.same_key = false;
  if (pair.imported && !all_answers_stand_in(a.record)) pair.bit_identical = false;
  pair.same_device = a.record.device == b.record.device && !have_two_servers(a.record, b.record);
  for (const auto* side : {&a.record, &b.record})
    if (is_ended_by_fault(*side))
      pair.incomparable = message("incomparable.fault", describe(*side), side->error);
    else if (side->status != "ok")
      comparison.damaged.push_back(fmt::format("{} failed: {}", describe(*side), side->error));
  add_metrics(pair, comparison.damaged);
  if (pair.imported)
    add_imported_curves(pair, comparison);
  else
    add_curves(pair, sides, comparison.damaged);
  add_refusals(a.record, b.record, comparison.unpaired);
  add_confounders(comparison.confounders, confounders_of(a.record, b.record));
  for (std::string& field : stated_equal_of(a.record, b.record))
    if (std::find(comparison.stated_equal.begin(), comparison.stated_equal.end(), field) ==
        comparison.stated_equal.end())
      comparison.stated_equal.push_back(std::move(field));
  add_unknown(a.record, b.record, comparison);
  return pair;
}

// Groups without a common seed: what was asked of them, but for the seed, which differs by design.
void add_group_confounders(const UnmatchedSeeds& nodes, Comparison& comparison) {
  const auto add = [&](const Record& a, const Record& b) {
    add_unknown(a, b, comparison);
    std::vector<Confounder> found = confounders_of(a, b);
    std::erase_if(found, [&](const Confounder& c) {
      return c.field.ends_with("seed") && a.seed && b.seed && c.a == Json(*a.seed).dump() &&
             c.b == Json(*b.seed).dump();
    });
    Record node = a;
    node.seed.reset();
    const std::string where = describe(node);
    for (Confounder& confounder : found) {
      confounder.where = {where};
      const bool is_known = std::ranges::any_of(comparison.confounders, [&](const Confounder& c) {
        return c.field == confounder.field && c.a == confounder.a && c.b == confounder.b &&
               std::ranges::count(c.where, where) > 0;
      });
      if (!is_known) add_confounders(comparison.confounders, {confounder});
    }
  };
  for (const StoredRecord* stored : nodes.b) add(nodes.a.front()->record, stored->record);
  for (const StoredRecord* stored : nodes.a) add(stored->record, nodes.b.front()->record);
}

void add_q_values(Comparison& comparison) {
  std::vector<MetricDifference*> rows;
  std::vector<double> p;
  for (RecordPair& pair : comparison.pairs)
    for (MetricDifference& row : pair.metrics)
      if (row.counts && row.p_two_sided) {
        rows.push_back(&row);
        p.push_back(*row.p_two_sided);
      }
  const auto q = benjamini_hochberg(p);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i]->q = q[i];
}

void fill(Comparison& comparison, const Pairing& pairing, const Sides& sides) {
  for (const PairedRecords& paired : pairing.pairs)
    comparison.pairs.push_back(pair_of(paired, sides, comparison));
  settle_imported(comparison.pairs);
  add_q_values(comparison);
  comparison.seeds = seed_differences(comparison.pairs, pairing.unmatched);
  comparison.unmatched = pairing.unmatched;
  for (const UnmatchedSeeds& nodes : pairing.unmatched) add_group_confounders(nodes, comparison);
  comparison.renamed = pairing.renamed;
  comparison.only_a = pairing.only_a;
  comparison.only_b = pairing.only_b;
  std::ranges::move(undecided_captures(pairing), std::back_inserter(comparison.unpaired));
  const bool devices = !comparison.device_a.empty();
  for (const StoredRecord* stored : pairing.only_a)
    comparison.unpaired.push_back(
        devices ? message("pair.only_on", comparison.device_a, describe(stored->record))
                : message("pair.only_a", describe(stored->record)));
  for (const StoredRecord* stored : pairing.only_b)
    comparison.unpaired.push_back(
        devices ? message("pair.only_on", comparison.device_b, describe(stored->record))
                : message("pair.only_b", describe(stored->record)));
  auto& confounders = comparison.confounders;
  const auto rank = [](const std::string& category) {
    constexpr std::array kOrder = {"server", "settings", "data", "code", "numerics"};
    return std::find(kOrder.begin(), kOrder.end(), category) - kOrder.begin();
  };
  std::stable_sort(confounders.begin(), confounders.end(), [&](const auto& x, const auto& y) {
    return rank(x.category) < rank(y.category);
  });
  comparison.findings = findings_of(comparison);
  comparison.cautions = cautions_of(comparison);
  comparison.scores = scores_of(comparison);
  comparison.costs = costs_of(comparison);
}

void take_run(const RunRecords& run, std::vector<std::string>& damaged, Comparison& comparison) {
  damaged = run.damaged;
  comparison.damaged.insert(comparison.damaged.end(), run.damaged.begin(), run.damaged.end());
  comparison.skipped.insert(comparison.skipped.end(), run.notes.begin(), run.notes.end());
}

}  // namespace

std::string_view name(Shown shown) {
  switch (shown) {
    case Shown::kNothing:
      return "";
    case Shown::kEqual:
      return "equal";
    case Shown::kBetter:
      return "B better";
    case Shown::kWorse:
      return "B worse";
    case Shown::kNotShown:
      return "not established";
  }
  return "";
}

bool Comparison::only_device_differs() const {
  return (!pairs.empty() || !unmatched.empty()) && unknown.empty() &&
         std::none_of(confounders.begin(), confounders.end(), [](const Confounder& confounder) {
           return confounder.category == "settings" || confounder.category == "data" ||
                  confounder.category == "code";
         });
}

Sentence nothing_in_common(const RecordPair& pair) {
  if (pair.curves && pair.curves->points > 0) return {};
  for (const MetricDifference& row : pair.metrics)
    if (row.difference || row.incomparable || !row.contradiction.empty()) return {};
  const auto scores_of = [&](FoundIn side) {
    std::vector<std::string> names;
    for (const MetricDifference& row : pair.metrics)
      if (row.is_only_in(side)) names.push_back(row.name);
    return listed(std::move(names), kMaxCauses);
  };
  const Sentence a = scores_of(FoundIn::kA), b = scores_of(FoundIn::kB);
  if (a.empty() || b.empty()) return {};
  return message("pair.nothing_in_common", a, b);
}

Sentence Comparison::why_incomparable() const {
  Sentence why;
  for (const RecordPair& pair : pairs)
    for (const MetricDifference& row : pair.metrics) {
      if (row.difference) return {};
      if (row.incomparable && why.empty())
        why = message("about", describe(pair.b->record), row.note);
      if (!row.contradiction.empty() && why.empty())
        why = message("about", row.name + " of " + describe(pair.b->record), row.contradiction);
    }
  if (why.empty() && unmatched.empty() && !pairs.empty() && pairs.front().imported)
    why = nothing_in_common(pairs.front());
  return why;
}

Sentence Comparison::likely_cause() const {
  std::vector<Sentence> parts;
  std::set<std::string> told;
  std::size_t count = 0, more = 0;
  for (const std::string category : {"settings", "data", "code"}) {
    std::vector<Sentence> causes;
    for (const Confounder& c : confounders) {
      if (c.category != category || c.field.starts_with("/settings/effective/"))
        continue;  // follows
      // A checkpoint's history repeats the settings of the training that was compared too.
      const std::string change =
          c.named.empty()
              ? fmt::format("{} {} → {}", c.field.substr(c.field.rfind('/') + 1), c.a, c.b)
              : text_of(c.named);
      if (!told.insert(change).second) continue;
      if (count == kMaxCauses)
        ++more;
      else
        causes.push_back(c.named.empty() ? verbatim(fmt::format("{} {} → {}", c.field, c.a, c.b))
                                         : c.named);
      count = std::min(count + 1, kMaxCauses);
    }
    Sentence list = joined("join.semicolon", std::move(causes));
    if (list.empty()) continue;
    parts.push_back(category == "settings" ? message("cause.settings", std::move(list))
                    : category == "data"   ? message("cause.data", std::move(list))
                                           : message("cause.code", std::move(list)));
  }
  std::vector<Sentence> seen;
  for (const Confounder& c : confounders)
    if (is_of_servers(c) && (c.category == "numerics" || c.category == "server") &&
        !c.named.empty())
      seen.push_back(c.named);
  if (Sentence list = joined("join.semicolon", std::move(seen)); !list.empty())
    parts.push_back(message("cause.servers", std::move(list)));
  if (!parts.empty() && more > 0) parts.push_back(message("list.and_more_part", more));
  return joined("join.semicolon", std::move(parts));
}

Comparison compare_runs(const RunRecords& a, const RunRecords& b, PairAcross across) {
  Comparison comparison;
  comparison.label_a = a.path.string();
  comparison.label_b = b.path.string();
  take_run(a, comparison.damaged_a, comparison);
  if (&a != &b) take_run(b, comparison.damaged_b, comparison);
  fill(comparison, pair_records(a, b, across), {trained_weights(a), trained_weights(b)});
  return comparison;
}

Result<Comparison> compare_devices(const RunRecords& run, const std::string& device_a,
                                   const std::string& device_b) {
  NB_TRY(const Pairing pairing, pair_devices(run, device_a, device_b));
  Comparison comparison;
  comparison.label_a = comparison.device_a = device_a;
  comparison.label_b = comparison.device_b = device_b;
  take_run(run, comparison.damaged_a, comparison);
  const TrainedWeights trained = trained_weights(run);
  fill(comparison, pairing, {trained, trained});
  return comparison;
}

}  // namespace nb
