#include "results/import/complete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "results/audit/known_tasks.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/stored_items.hpp"

namespace nb {
namespace {

// Test sets beside those of results/audit/known_tasks.hpp that have one size wherever they are
// used.
struct TaskSize {
  std::string_view names;  // separated by spaces
  std::int64_t items;
  std::string_view source;
};
constexpr auto kSizes = std::to_array<TaskSize>({
    {"truthfulqa_mc1 truthfulqa_mc2 truthfulqa_gen", 817, "Lin et al. 2022"},
    {"ifeval IFEval", 541, "google-research: instruction_following_eval"},
    {"gpqa_diamond GPQA_diamond gpqa_diamond_zeroshot", 198, "Rein et al. 2023"},
    {"math_500 math500 MATH-500", 500, "Lightman et al. 2023"},
    {"aime24 aime2024 aime25 aime2025", 30, "AIME I and II, 15 problems each"},
    {"cmmlu", 11582, "Li et al. 2023"},
    {"ceval-valid ceval_val", 1346, "Huang et al. 2023: validation set"},
    {"bbh", 6511, "Suzgun et al. 2022"},
    {"mmlu_pro", 12032, "Wang et al. 2024"},
    {"openai_humaneval humaneval_plus humaneval+", 164, "Chen et al. 2021"},
    {"social_iqa siqa", 1954, "Sap et al. 2019: validation set"},
});

// Groups whose rows are named for their subjects: opencompass configs/summarizers/groups @
// a5acc4bb, lm_eval/tasks @ 4e7e0d47f.
struct KnownGroup {
  std::string_view group;
  std::string_view prefix;  // of its subjects' names
  std::size_t subjects;
};
constexpr auto kGroups = std::to_array<KnownGroup>({
    {"mmlu", "mmlu_", 57},
    {"mmlu", "hendrycksTest-", 57},
    {"mmlu", "lukaemon_mmlu_", 57},
    {"mmlu", "mmlu:", 57},
    {"cmmlu", "cmmlu_", 67},
    {"cmmlu", "cmmlu-", 67},
    {"ceval", "ceval-valid_", 52},
    {"ceval", "ceval-", 52},
    {"bbh", "bbh-", 27},
    {"agieval", "agieval-", 21},
    {"mmlu_pro", "mmlu_pro_", 14},
});
// Sums of subjects that stand among them: lm_eval/tasks/mmlu/default @ 4e7e0d47f.
constexpr std::array<std::string_view, 4> kBetween = {"mmlu_stem", "mmlu_humanities", "mmlu_other",
                                                      "mmlu_social_sciences"};

bool is_in(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t space = std::min(names.find(' '), names.size());
    if (names.substr(0, space) == name) return true;
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return false;
}

void note_once(ForeignRun& run, Sentence note) {
  if (std::ranges::find(run.notes, note) == run.notes.end()) run.notes.push_back(std::move(note));
}

bool is_open_share(const ForeignSeries& series) {
  return series.is_share && series.items.empty() && series.reported_n == 0 && series.reported &&
         *series.reported >= 0 && *series.reported <= 1;
}

// A printed share of n items is, up to the digits that are printed, a whole number of items: else
// it is not that set. Of less than three digits ("61 %") any set could be meant: not known.
bool is_whole_of(double share, std::int64_t n) {
  const std::string text = fmt::format("{:.12g}", share);
  const auto digits =
      std::min<std::size_t>(text.size() - std::min(text.find('.') + 1, text.size()), 4);
  if (digits < 3 && share > 0 && share < 1) return false;
  const double right = share * static_cast<double>(n);
  const double half_step =
      share > 0 && share < 1 ? 0.5 * std::pow(10.0, -static_cast<double>(digits)) : 0;
  return std::fabs(right - std::round(right)) <= half_step * static_cast<double>(n) + 1e-6;
}

// Sources divide by n − 1 or n: within two items. Of a rounded standard error about n.
void size_from_error(ForeignSeries& series) {
  const double p = *series.reported, se = series.reported_stderr.value_or(0);
  if (!(se > 0) || p <= 0 || p >= 1) return;
  const double n = p * (1 - p) / (se * se);
  if (n >= 1 && n < 1e9) series.reported_n = std::llround(n);
}

void size_from_task(ForeignSeries& series, ForeignRun& run) {
  const std::int64_t n = task_size(series.name.task);
  if (n == 0 || !is_whole_of(*series.reported, n)) return;
  series.reported_n = n;
  note_once(run, message("import.full_test_set", series.name.task, n));
}

std::int64_t items_of(const ForeignSeries& series) {
  if (!series.items.empty()) return static_cast<std::int64_t>(series.items.size());
  return series.reported_n / std::max<std::int64_t>(series.repeats, 1);
}

std::optional<double> reported_mean(const ForeignSeries& series) {
  if (series.items.empty()) return series.reported;
  double sum = 0;
  for (const ItemRecord& item : series.items) sum += score_of(item);
  return sum / static_cast<double>(series.items.size());
}

// The group's row where the file has none: all items of all subjects.
void add_group(ForeignRun& run, const KnownGroup& group,
               const std::vector<ForeignSeries*>& subjects) {
  ForeignSeries total;
  total.name = subjects.front()->name;
  total.name.task = group.group;
  total.direction = subjects.front()->direction;
  total.unit = subjects.front()->unit;
  total.is_share = subjects.front()->is_share;
  total.primary = subjects.front()->primary;
  double sum = 0;
  for (const ForeignSeries* subject : subjects) {
    const auto mean = reported_mean(*subject);
    const std::int64_t n = items_of(*subject);
    if (!mean || n == 0) return;
    sum += *mean * static_cast<double>(n);
    total.reported_n += n;
    // What must match holds for the group where all of it agrees.
    if (subject == subjects.front()) total.must_match = subject->must_match;
    std::erase_if(total.must_match, [&](const auto& entry) {
      const auto at = subject->must_match.find(entry.first);
      return at == subject->must_match.end() || at->second != entry.second;
    });
  }
  total.reported = sum / static_cast<double>(total.reported_n);
  note_once(run, message("import.group_mean", group.group, total.reported_n, subjects.size()));
  for (ForeignSeries* subject : subjects) subject->part_of = group.group;
  run.series.push_back(std::move(total));
}

// The places of series that have the metric and the filter in common, under both names.
using Alike = std::map<SeriesName, std::vector<std::size_t>>;

SeriesName like(const ForeignSeries& series, std::string task = "") {
  return {std::move(task), series.name.filter, series.name.metric};
}

bool is_subject(const ForeignSeries& series, const KnownGroup& group) {
  return series.name.task.starts_with(group.prefix) &&
         std::ranges::find(kBetween, series.name.task) == kBetween.end();
}

void add_known_group(ForeignRun& run, const KnownGroup& group,
                     const std::vector<std::size_t>& places) {
  std::vector<ForeignSeries*> subjects;
  ForeignSeries* row = nullptr;
  for (const std::size_t place : places) {
    ForeignSeries& series = run.series[place];
    if (is_subject(series, group)) subjects.push_back(&series);
    if (series.name.task == group.group) row = &series;
  }
  if (subjects.size() != group.subjects) return;
  if (row == nullptr) return add_group(run, group, subjects);
  for (const std::size_t place : places)
    if (run.series[place].name.task.starts_with(group.prefix))
      run.series[place].part_of = group.group;
  row->primary = subjects.front()->primary;  // the group is what is judged now
}

void add_known_groups(ForeignRun& run) {
  for (const KnownGroup& group : kGroups) {
    Alike alike;
    std::vector<SeriesName> open;  // in the run's order; once each
    std::set<SeriesName> seen;
    for (std::size_t i = 0; i < run.series.size(); ++i) {
      const ForeignSeries& series = run.series[i];
      alike[like(series)].push_back(i);
      if (series.name.task.starts_with(group.prefix) && series.part_of.empty() &&
          seen.insert(like(series)).second)
        open.push_back(like(series));
    }
    for (const SeriesName& name : open) add_known_group(run, group, alike.at(name));
  }
}

void sizes_of_groups(ForeignRun& run) {
  Alike parts;  // of each group
  for (std::size_t i = 0; i < run.series.size(); ++i)
    if (const ForeignSeries& part = run.series[i]; !part.part_of.empty())
      parts[like(part, part.part_of)].push_back(i);
  for (ForeignSeries& group : run.series) {
    if (!is_open_share(group)) continue;
    const auto of_group = parts.find(group.name);
    if (of_group == parts.end()) continue;
    std::int64_t n = 0;
    bool all = true;
    for (const std::size_t place : of_group->second) {
      n += items_of(run.series[place]);
      all = all && items_of(run.series[place]) > 0;
    }
    if (all) group.reported_n = n;
  }
}

}  // namespace

std::int64_t task_size(std::string_view task) {
  for (const TaskSize& known : kSizes)
    if (is_in(known.names, task)) return known.items;
  const KnownTask* known = known_task_named(task);
  return known == nullptr ? 0 : known->items;
}

void complete_totals(ForeignRun& run) {
  add_known_groups(run);
  sizes_of_groups(run);
  for (ForeignSeries& series : run.series) {
    if (is_open_share(series)) size_from_error(series);
    if (is_open_share(series)) size_from_task(series, run);
  }
  sizes_of_groups(run);
}

}  // namespace nb
