#include "results/compare/stage_gain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "harness/base/ascii.hpp"
#include "harness/base/fields.hpp"
#include "results/compare/compare_metrics.hpp"
#include "results/compare/imported_rows.hpp"
#include "results/compare/item_comparison.hpp"
#include "results/store/comparability.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

using Evaluations = std::vector<const StoredRecord*>;

// In the words of its own source.
std::string imported_stage(const Record& record) {
  return record.settings->at("imported").value("stage", "");
}

bool is_of_stage(const Record& record, const std::string& stage) {
  return is_imported(record) ? lowered(imported_stage(record)) == stage
                             : record.name.starts_with(stage + ".");
}

Evaluations evaluations_of(const RunRecords& run, const std::string& stage,
                           std::vector<std::string>& damaged) {
  Evaluations found;
  for (const StoredRecord& stored : run.records) {
    const Record& record = stored.record;
    if (record.kind != "eval" || !is_of_stage(record, stage)) continue;
    if (record.status == "ok")
      found.push_back(&stored);
    else
      damaged.push_back(fmt::format("{} failed: {}", describe(record), record.error));
  }
  return found;
}

std::string stages_text(const RunRecords& run) {
  std::set<std::string> stages;
  for (const StoredRecord& stored : run.records)
    if (stored.record.kind == "eval")
      if (std::string stage =
              is_imported(stored.record) ? imported_stage(stored.record) : stage_of(stored.record);
          !stage.empty())
        stages.insert(std::move(stage));
  return stages.empty() ? "none" : fmt::format("{}", fmt::join(stages, ", "));
}

// "chat" of "sft.chat"; of an imported one the model, "d32" of "d32.sft", or nothing.
std::string name_without(const Record& record, const std::string& stage) {
  if (!is_imported(record)) return record.name.substr(stage.size() + 1);
  return record.name.size() == stage.size()
             ? ""
             : record.name.substr(0, record.name.size() - stage.size() - 1);
}

bool is_asked(const Metric& metric) {
  return metric.direction != Direction::kNone && metric.clock == Clock::kNone && metric.value &&
         (metric.name.find('/') == metric.name.npos ||
          metric.name.ends_with(std::string("/") + metric::kAccuracy) ||
          metric.name.ends_with(std::string("/") + metric::kBitsPerByte));
}

struct Pair {
  const StoredRecord* a = nullptr;
  const StoredRecord* b = nullptr;
};

std::vector<Pair> pairs_of(const Evaluations& left, const Evaluations& right,
                           const StageGains& gains) {
  std::vector<Pair> pairs;
  for (const StoredRecord* a : left)
    for (const StoredRecord* b : right) {
      const Record &x = a->record, &y = b->record;
      if (name_without(x, gains.stage_a) == name_without(y, gains.stage_b) &&
          std::tie(x.device, x.trained_on, x.seed) == std::tie(y.device, y.trained_on, y.seed))
        pairs.push_back({a, b});
    }
  return pairs;
}

struct Values {
  std::vector<double> a, b;  // of one seed
};

// One metric of one evaluation over all pairs.
struct Collected {
  StageGain gain;
  std::map<std::int64_t, Values> by_seed;  // a node without a seed: 0
  std::vector<Pair> pairs;
};

void add_note(std::vector<std::string>& notes, std::string note) {
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
}

std::vector<Collected> collected(const std::vector<Pair>& pairs, StageGains& gains) {
  std::map<std::pair<std::string, std::string>, Collected> all;
  for (const Pair& pair : pairs) {
    const Record &a = pair.a->record, &b = pair.b->record;
    const std::string evaluation = name_without(b, gains.stage_b);
    for (const Metric& metric : b.metrics) {
      if (!is_asked(metric)) continue;
      const Metric* other = find_metric(a, metric.name);
      if (other == nullptr || !other->value || other->unit != metric.unit) continue;
      if (const auto why = incomparable_because(a, b, task_of_metric(metric.name)); !why.empty()) {
        add_note(gains.notes,
                 fmt::format("{} {}: left out: {}", evaluation, metric.name, text_of(why)));
        continue;
      }
      Collected& one = all[{evaluation, metric.name}];
      one.gain.evaluation = evaluation;
      one.gain.metric = metric.name;
      one.gain.direction = metric.direction;
      one.gain.unit = metric.unit;
      one.gain.n = metric.n;
      Values& values = one.by_seed[b.seed.value_or(0)];
      values.a.push_back(*other->value);
      values.b.push_back(*metric.value);
      one.pairs.push_back(pair);
    }
  }
  std::vector<Collected> list;
  for (auto& [name, one] : all) list.push_back(std::move(one));
  return list;
}

// One seed: what the items of its checkpoints say, where there is one pair of evaluations.
void judge_items(const Collected& one, StageGain& gain, std::vector<std::string>& damaged) {
  const std::string task = task_of_metric(gain.metric);
  if (one.pairs.size() != 1 || !gain.metric.ends_with(metric::kAccuracy)) return;
  const Pair& pair = one.pairs.front();
  if (!pair.a->record.items.contains(task) || !pair.b->record.items.contains(task)) return;
  const ItemComparison items = compare_items(*pair.a, *pair.b, task);
  if (!items.error.empty()) {
    damaged.push_back(items.error);
    return;
  }
  gain.p = mid_p_two_sided(items.counts.only_a, items.counts.only_b);
  gain.interval95 = newcombe_paired(items.counts);
}

StageGain judged(const Collected& one, std::vector<std::string>& damaged) {
  StageGain gain = one.gain;
  for (const auto& [seed, values] : one.by_seed) {
    gain.seeds.push_back(seed);
    gain.a.push_back(mean(values.a));
    gain.b.push_back(mean(values.b));
  }
  gain.difference = mean(gain.b) - mean(gain.a);
  if (gain.a.size() == 1) {
    judge_items(one, gain, damaged);
    return gain;
  }
  const MeanTest test = paired_t(gain.a, gain.b);
  gain.p = test.p_two_sided;
  gain.interval95 = test.interval95;
  if (test.df > 0) gain.min_detectable = min_detectable(test.standard_error, test.df);
  return gain;
}

void mark_parts(std::vector<StageGain>& gains) {
  for (StageGain& gain : gains)
    gain.is_part = std::ranges::any_of(gains, [&](const StageGain& whole) {
      return whole.evaluation == gain.evaluation && whole.metric != gain.metric &&
             task_of_metric(gain.metric).starts_with(task_of_metric(whole.metric) + "/");
    });
}

void correct_family(std::vector<StageGain>& gains, bool parts) {
  std::vector<StageGain*> tested;
  std::vector<double> p;
  for (StageGain& gain : gains)
    if (gain.p && gain.is_part == parts) {
      tested.push_back(&gain);
      p.push_back(*gain.p);
    }
  const std::vector<double> adjusted = holm(p);
  for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->p_holm = adjusted[i];
}

void decide(std::vector<StageGain>& gains) {
  mark_parts(gains);
  for (const bool parts : {false, true}) correct_family(gains, parts);
  for (StageGain& gain : gains) {
    if (gain.a == gain.b)
      gain.shown = Shown::kEqual;
    else if (gain.p_holm && *gain.p_holm < kAlpha)
      gain.shown = (gain.difference > 0) == (gain.direction == Direction::kHigher) ? Shown::kBetter
                                                                                   : Shown::kWorse;
  }
}

bool is_wanted(const std::string& metric, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& name) {
           return name == metric || name == metric::shown_name(metric);
         });
}

Result<void> check_shared(const std::vector<std::string>& wanted,
                          const std::vector<std::string>& shared) {
  std::vector<std::string> names;
  for (const std::string& metric : shared) names.push_back(metric::shown_name(metric));
  for (const std::string& name : wanted)
    if (std::ranges::none_of(shared,
                             [&](const std::string& metric) { return is_wanted(metric, {name}); }))
      return bad_input(fmt::format("--metric {}: the stages do not share it{}; they share: {}",
                                   name, did_you_mean(name, names), fmt::join(names, ", ")));
  return {};
}

Result<void> add_own(const std::vector<Pair>& pairs, const std::vector<std::string>& wanted,
                     StageGains& gains) {
  auto all = collected(pairs, gains);
  std::vector<std::string> shared;
  for (const Collected& one : all) shared.push_back(one.gain.metric);
  NB_TRY_VOID(check_shared(wanted, shared));
  std::erase_if(all, [&](const Collected& one) { return !is_wanted(one.gain.metric, wanted); });
  for (const Collected& one : all) gains.gains.push_back(judged(one, gains.damaged));
  decide(gains.gains);
  return {};
}

bool is_gain(const MetricDifference& row) {
  return row.difference && row.direction != Direction::kNone && row.clock == Clock::kNone;
}

std::vector<std::string> names_only_in(const RecordPair& pair, FoundIn side) {
  std::vector<std::string> names;
  for (const MetricDifference& row : pair.metrics)
    if (row.clock == Clock::kNone && row.is_only_in(side))
      names.push_back(metric::shown_name(row.name));
  return names;
}

StageGain gain_of(const MetricDifference& row, const std::string& evaluation) {
  StageGain gain;
  gain.evaluation = evaluation;
  gain.metric = row.name;
  gain.direction = row.direction;
  gain.unit = row.unit;
  gain.n = row.n;
  gain.seeds = {0};
  gain.a = {*row.a};
  gain.b = {*row.b};
  gain.difference = *row.difference;
  gain.interval95 = row.interval95;
  gain.p = row.p_two_sided;
  gain.p_holm = row.p_corrected;
  gain.is_part = family_of(row) != ScoreFamily::kHeadline;
  gain.min_detectable = row.min_detectable;
  gain.shown = row.shown;
  return gain;
}

// Judged as `compare` judges two imported evaluations.
Result<void> add_imported(const std::vector<Pair>& from, const std::vector<std::string>& wanted,
                          StageGains& gains) {
  std::vector<RecordPair> pairs;
  std::vector<std::string> shared;
  for (const Pair& one : from) {
    RecordPair& pair = pairs.emplace_back();
    pair.a = one.a;
    pair.b = one.b;
    pair.imported = true;
    pair.incomparable = incomparable_because(one.a->record, one.b->record);
    add_metrics(pair, gains.damaged);
    for (const MetricDifference& row : pair.metrics)
      if (is_gain(row)) shared.push_back(row.name);
  }
  NB_TRY_VOID(check_shared(wanted, shared));
  for (RecordPair& pair : pairs)
    std::erase_if(pair.metrics, [&](const auto& row) { return !is_wanted(row.name, wanted); });
  settle_imported(pairs);
  for (const RecordPair& pair : pairs) {
    const std::string evaluation = name_without(pair.b->record, gains.stage_b);
    for (const MetricDifference& row : pair.metrics)
      if (is_gain(row))
        gains.gains.push_back(gain_of(row, evaluation));
      else if (row.incomparable || !row.contradiction.empty())
        add_note(gains.notes, fmt::format("{}: left out: {}", row.name, text_of(row.note)));
    for (const auto& [side, stage] :
         {std::pair(FoundIn::kA, &gains.stage_a), std::pair(FoundIn::kB, &gains.stage_b)})
      if (const auto names = names_only_in(pair, side); !names.empty())
        add_note(gains.notes, fmt::format("only in {}: {}", *stage, fmt::join(names, ", ")));
  }
  return {};
}

}  // namespace

Result<StageGains> stage_gains(const RunRecords& run, const std::string& stage_a,
                               const std::string& stage_b,
                               const std::vector<std::string>& metrics) {
  if (stage_a == stage_b)
    return bad_input(fmt::format("stages: {} is given twice; give two", stage_a));
  StageGains gains;
  gains.imported = std::ranges::all_of(
      run.records, [](const StoredRecord& stored) { return is_imported(stored.record); });
  // "SFT" of a report card is "sft" here.
  gains.stage_a = gains.imported ? lowered(stage_a) : stage_a;
  gains.stage_b = gains.imported ? lowered(stage_b) : stage_b;
  gains.damaged = run.damaged;
  const Evaluations left = evaluations_of(run, gains.stage_a, gains.damaged);
  const Evaluations right = evaluations_of(run, gains.stage_b, gains.damaged);
  for (const auto& [stage, found] : {std::pair(stage_a, &left), std::pair(stage_b, &right)})
    if (found->empty())
      return bad_input(fmt::format("{}: has no evaluation of the stage \"{}\"; it has: {}",
                                   run.path.string(), stage, stages_text(run)));
  const std::vector<Pair> pairs = pairs_of(left, right, gains);
  std::set<std::string> devices;
  std::set<std::int64_t> seeds;
  for (const Pair& pair : pairs) {
    if (!pair.b->record.device.empty()) devices.insert(pair.b->record.device);
    seeds.insert(pair.b->record.seed.value_or(0));
  }
  gains.devices.assign(devices.begin(), devices.end());
  gains.seeds = seeds.size();
  if (pairs.empty())
    return bad_input(fmt::format(
        "{}: no evaluation of {} has a partner of {} with the same name, device and seed",
        run.path.string(), stage_b, stage_a));
  NB_TRY_VOID(gains.imported ? add_imported(pairs, metrics, gains)
                             : add_own(pairs, metrics, gains));
  return gains;
}

}  // namespace nb
