#include "results/import/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "harness/base/hash.hpp"
#include "results/import/metric_kinds.hpp"
#include "results/import/reducers.hpp"
#include "results/item_lines.hpp"
#include "results/item_pairing.hpp"

namespace nb {
namespace {

constexpr std::size_t kIdDigits = 16;

// 17 before 100, "a2" before "a10".
bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      std::size_t x = i, y = j;
      while (x < a.size() && digit(a[x])) ++x;
      while (y < b.size() && digit(b[y])) ++y;
      std::string_view left = a.substr(i, x - i), right = b.substr(j, y - j);
      while (left.size() > 1 && left[0] == '0') left.remove_prefix(1);
      while (right.size() > 1 && right[0] == '0') right.remove_prefix(1);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      i = x;
      j = y;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i;
    ++j;
  }
  return a.size() - i < b.size() - j;
}

std::string series_text(const SeriesName& name) {
  return fmt::format("{}{}/{}", name.task, name.filter.empty() ? "" : ":" + name.filter,
                     name.metric);
}

struct Sample {
  std::int64_t epoch;
  double value;
};

// Items by their names at the source, of which the items themselves hold the only copy: a table of
// numbers, since there may be half a million.
class ByName {
 public:
  explicit ByName(const std::vector<ItemRecord>& items) : items_(items), slots_(16, kFree) {}

  std::optional<std::size_t> find(std::string_view name) const {
    const std::uint32_t found = slots_[slot_of(name)];
    return found == kFree ? std::nullopt : std::optional<std::size_t>(found);
  }

  // The last of the items, whose name is new.
  void add_last() {
    if (2 * items_.size() > slots_.size()) {
      slots_.assign(2 * slots_.size(), kFree);
      for (std::size_t i = 0; i < items_.size(); ++i) put(i);
    } else {
      put(items_.size() - 1);
    }
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  void put(std::size_t i) { slots_[slot_of(items_[i].source_id)] = static_cast<std::uint32_t>(i); }
  // Of that name, or the free one where it belongs.
  std::size_t slot_of(std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = std::hash<std::string_view>()(name) & mask;
    while (slots_[at] != kFree && items_[slots_[at]].source_id != name) at = (at + 1) & mask;
    return at;
  }

  const std::vector<ItemRecord>& items_;
  std::vector<std::uint32_t> slots_;
};

// The items of one series. There may be a hundred thousand: they stand where they stay, and what
// few of them have, more samples than one, is apart.
struct Collecting {
  Collecting() = default;
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

  std::vector<ItemRecord> items;
  std::vector<Sample> first;  // of each item
  std::unordered_map<std::size_t, std::vector<Sample>> others;
  ByName by_source{items};

  const std::vector<Sample>& others_of(std::size_t i) const {
    static const std::vector<Sample> kNone;
    const auto at = others.find(i);
    return at == others.end() ? kNone : at->second;
  }
};

// What states a task of a run.
struct Claim {
  std::string stamp;
  std::filesystem::path file;
};

bool is_mark(double value) { return value == 0 || value == 1; }

// The item's samples in the order of their epochs.
std::vector<double> samples_of(const Collecting& all, std::size_t i) {
  std::vector<Sample> samples = all.others_of(i);
  samples.push_back(all.first[i]);
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.epoch < b.epoch; });
  std::vector<double> values;
  for (const Sample& one : samples) values.push_back(one.value);
  return values;
}

// The items with their values. Those to which the reducer gives none are left out; how many.
std::size_t close_items(Collecting& all, const std::string& reducer) {
  std::size_t kept = 0;
  bool fractional = false;
  for (std::size_t i = 0; i < all.items.size(); ++i) {
    ItemRecord& item = all.items[i];
    std::optional<double> value = all.first[i].value;
    if (!all.others_of(i).empty()) {
      const std::vector<double> samples = samples_of(all, i);
      value = reduced(reducer, samples);
      // The samples themselves are what a mean is of.
      if ((reducer.empty() || reducer == "mean") &&
          std::all_of(samples.begin(), samples.end(), is_mark))
        for (const double one : samples) item.sample_ok.push_back(one == 1 ? 1 : 0);
    }
    if (!value) continue;
    item.ok = *value == 1;
    item.value = value;
    fractional = fractional || !is_mark(*value);
    if (kept != i) all.items[kept] = std::move(item);
    ++kept;
  }
  const std::size_t without = all.items.size() - kept;
  all.items.resize(kept);
  if (!fractional)
    for (ItemRecord& item : all.items) item.value.reset();
  return without;
}

std::size_t samples_in(const Collecting& all) {
  std::size_t count = all.items.size();
  for (const auto& [i, others] : all.others) count += others.size();
  return count;
}

std::string key_of(const ItemRecord& item) {
  if (!item.id.empty()) return item.id;
  if (!item.doc_hash.empty()) return sha256_hex("doc " + item.doc_hash).substr(0, kIdDigits);
  return kNamePrefix + sha256_hex(item.source_id).substr(0, kIdDigits);
}

std::size_t number_doubles(std::vector<ItemRecord>& items) {
  const auto before = [](const ItemRecord& a, const ItemRecord& b) {
    return natural_less(a.source_id, b.source_id);
  };
  if (!std::is_sorted(items.begin(), items.end(), before))
    std::sort(items.begin(), items.end(), before);
  for (ItemRecord& item : items) item.id = key_of(item);
  if (repeated_item(items) == nullptr) return 0;
  std::unordered_map<std::string, int> seen;
  std::size_t doubles = 0;
  for (ItemRecord& item : items) {
    const int k = ++seen[item.id];
    if (k == 1) continue;
    ++doubles;
    item.id = sha256_hex(fmt::format("{} {}", item.id, k)).substr(0, kIdDigits);
  }
  return doubles;
}

// A printed table is rounded to four digits.
constexpr double kPrinted = 6e-5;

bool repeats(const ForeignRun& table, const ForeignRun& other) {
  if (table.harness != other.harness) return false;
  if (!table.model.empty() && table.model != other.model) return false;
  return std::ranges::all_of(table.series, [&](const ForeignSeries& one) {
    const auto same = std::ranges::find(other.series, one.name, &ForeignSeries::name);
    return same != other.series.end() && same->reported && one.reported &&
           std::fabs(*same->reported - *one.reported) <= kPrinted;
  });
}

// The table in a harness' log says once more what its files beside it say.
// is_printed: of each run.
void drop_repeats(std::vector<ForeignRun>& runs, const std::vector<bool>& is_printed,
                  std::vector<std::string>& ignored) {
  std::vector<ForeignRun> kept;
  std::vector<bool> drops(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ForeignRun& run = runs[i];
    if (!is_printed[i] || run.series.empty()) continue;
    const auto other = std::ranges::find_if(runs, [&](const ForeignRun& one) {
      return !is_printed[static_cast<std::size_t>(&one - runs.data())] && repeats(run, one);
    });
    if (other == runs.end()) continue;
    drops[i] = true;
    ignored.push_back(
        fmt::format("{}: its table repeats {}", run.files.front().string(),
                    other->files.empty() ? other->model : other->files.front().string()));
  }
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!drops[i]) kept.push_back(std::move(runs[i]));
  runs = std::move(kept);
}

// Items, or samples of them, must be as many as the total is of.
void hold_against_total(ForeignSeries& series, std::int64_t items, std::int64_t samples) {
  const std::int64_t said = series.reported_n;
  if (said == 0 || said == items || said == samples || !series.contradiction.empty()) return;
  series.contradiction = fmt::format("{}: its files hold {} scored answers, its results say {}",
                                     series_text(series.name), samples, said);
}

}  // namespace

struct ForeignBuilder::State {
  Look look;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  std::deque<ForeignRun> runs;
  // Of each run, in the order of its series.
  std::map<const ForeignRun*, std::map<SeriesName, Collecting>> items;
  std::map<const ForeignRun*, std::map<SeriesName, std::size_t>> series;
  std::map<const ForeignRun*, std::set<std::string>> notes;
  std::map<const ForeignRun*, std::map<std::string, Claim>> claims;  // by task
  std::map<const ForeignRun*, std::set<SeriesName>> dropped;         // and not stated again
  std::set<const ForeignRun*> printed;
  std::vector<std::string> ignored;
};

ForeignBuilder::ForeignBuilder() : state_(std::make_unique<State>()) {}
ForeignBuilder::~ForeignBuilder() = default;

void ForeignBuilder::look(Look look) { state_->look = std::move(look); }

bool ForeignBuilder::is_looked_at() const { return state_->look != nullptr; }

ForeignRun& ForeignBuilder::run(std::string_view harness, std::string_view model,
                                std::string_view stage) {
  const auto [at, is_new] = state_->places.try_emplace(
      {std::string(harness), std::string(model), std::string(stage)}, state_->runs.size());
  if (is_new) {
    ForeignRun run;
    run.harness = harness;
    run.model = model;
    run.stage = stage;
    state_->runs.push_back(std::move(run));
  }
  return state_->runs[at->second];
}

ForeignRun& ForeignBuilder::file_run(std::string_view harness, std::string_view model,
                                     std::string_view stage, const std::filesystem::path& file,
                                     const std::string& label) {
  // No model has a NUL in its name.
  const std::string own = fmt::format("{}{}{}{}{}", model, '\0', file.string(), '\0', label);
  const auto [at, is_new] = state_->places.try_emplace(
      {std::string(harness), own, std::string(stage)}, state_->runs.size());
  if (is_new) {
    ForeignRun run;
    run.harness = harness;
    run.model = model;
    run.stage = stage;
    run.label = label;
    run.files = {file};
    state_->runs.push_back(std::move(run));
  }
  return state_->runs[at->second];
}

void ForeignBuilder::printed(const ForeignRun& run) { state_->printed.insert(&run); }

void ForeignBuilder::say(ForeignRun& run, const std::string& key, const std::string& value) {
  if (value.empty()) return;
  const auto [at, is_new] = run.provenance.try_emplace(key, value);
  if (is_new || at->second == value) return;
  note(run, fmt::format("{} is {} in one of its files, {} in another", key, at->second, value));
}

ForeignSeries& ForeignBuilder::series(ForeignRun& run, const SeriesName& name) {
  const auto [at, is_new] = state_->series[&run].try_emplace(name, run.series.size());
  if (is_new) {
    ForeignSeries fresh;
    fresh.name = name;
    run.series.push_back(std::move(fresh));
  } else if (const auto dropped = state_->dropped.find(&run); dropped != state_->dropped.end()) {
    dropped->second.erase(name);
  }
  return run.series[at->second];
}

ForeignSeries* ForeignBuilder::find_series(ForeignRun& run, const SeriesName& name) {
  const auto& places = state_->series[&run];
  const auto at = places.find(name);
  return at == places.end() ? nullptr : &run.series[at->second];
}

std::vector<ForeignSeries*> ForeignBuilder::series_of_task(ForeignRun& run,
                                                           const std::string& task) {
  const auto& places = state_->series[&run];  // sorted by task
  std::vector<std::size_t> found;
  for (auto at = places.lower_bound({task, "", ""}); at != places.end() && at->first.task == task;
       ++at)
    found.push_back(at->second);
  std::sort(found.begin(), found.end());
  std::vector<ForeignSeries*> series;
  for (const std::size_t place : found) series.push_back(&run.series[place]);
  return series;
}

void ForeignBuilder::note(ForeignRun& run, std::string sentence) {
  if (state_->notes[&run].insert(sentence).second) run.notes.push_back(std::move(sentence));
}

bool ForeignBuilder::is_latest(ForeignRun& run, const std::string& task, const std::string& stamp,
                               const std::filesystem::path& file) {
  const auto [at, is_new] = state_->claims[&run].try_emplace(task, Claim{stamp, file});
  Claim& before = at->second;
  if (is_new || before.stamp == stamp) return true;
  const bool later = stamp > before.stamp;
  note(run,
       fmt::format("{} is there twice: the later counts, {}; {} is left out", task,
                   (later ? file : before.file).string(), (later ? before.file : file).string()));
  if (!later) return false;
  before = {stamp, file};
  for (ForeignSeries* series : series_of_task(run, task)) {
    const SeriesName name = series->name;
    *series = {};
    series->name = name;
    state_->items[&run].erase(name);
    state_->dropped[&run].insert(name);
  }
  return true;
}

Result<void> ForeignBuilder::add_item(ForeignRun& run, std::span<const SeriesValue> values,
                                      const ForeignItem& item, const std::string& where) {
  if (state_->look) state_->look(run, values, item);
  ItemRecord record;
  record.source_id = item.source_id;
  record.doc_hash = item.doc_hash;
  if (!item.content.empty()) record.id = content_hash(item.content);
  if (!item.prompt.empty()) record.prompt_hash = content_hash(item.prompt);
  record.gold = item.gold;
  record.prediction = item.prediction;
  const auto finite = [](float value) { return std::isfinite(value); };
  if (std::all_of(item.log_probs.begin(), item.log_probs.end(), finite))
    record.log_probs = item.log_probs;
  record.reason = item.reason;
  for (const SeriesValue& one : values) {
    if (!std::isfinite(one.value))
      return bad_input(fmt::format("{}: item {}: {} is not a finite number", where, item.source_id,
                                   series_text(one.series)));
    series(run, one.series);
    Collecting& collecting = state_->items[&run][one.series];
    const auto at = collecting.by_source.find(item.source_id);
    if (!at) {
      if (&one == &values.back())
        collecting.items.push_back(std::move(record));
      else
        collecting.items.push_back(record);
      collecting.first.push_back({item.epoch, one.value});
      collecting.by_source.add_last();
      continue;
    }
    ItemRecord& before = collecting.items[*at];
    std::vector<Sample>& others = collecting.others[*at];
    if (collecting.first[*at].epoch == item.epoch ||
        std::any_of(others.begin(), others.end(),
                    [&](const Sample& other) { return other.epoch == item.epoch; }))
      return bad_input(fmt::format(
          "{}: item {} of {} occurs twice; is the same file there twice, or are two runs in one?",
          where, item.source_id, series_text(one.series)));
    others.push_back({item.epoch, one.value});
    if (before.log_probs != record.log_probs) before.log_probs.clear();
    if (before.prediction != record.prediction) before.prediction.clear();
  }
  return {};
}

void ForeignBuilder::ignore(std::string sentence) {
  state_->ignored.push_back(std::move(sentence));
}

ForeignResults ForeignBuilder::finish() {
  ForeignResults results;
  std::vector<bool> is_printed;
  for (ForeignRun& run : state_->runs) {
    is_printed.push_back(state_->printed.contains(&run));
    const auto& dropped = state_->dropped[&run];
    std::erase_if(run.series, [&](const ForeignSeries& one) { return dropped.contains(one.name); });
    for (ForeignSeries& series : run.series) {
      const auto at = state_->items[&run].find(series.name);
      if (at == state_->items[&run].end()) continue;
      Collecting& all = at->second;
      std::size_t most = 1;
      for (const auto& [i, others] : all.others) most = std::max(most, 1 + others.size());
      const std::size_t samples = samples_in(all);
      if (const std::size_t without = close_items(all, series.reducer); without > 0)
        run.notes.push_back(fmt::format("{}: {} items have too few samples for {}",
                                        series_text(series.name), without, series.reducer));
      hold_against_total(series, static_cast<std::int64_t>(all.items.size()),
                         static_cast<std::int64_t>(samples));
      series.items = std::move(all.items);
      if (most > 1) series.must_match.try_emplace("samples", fmt::format("{}", most));
      if (const std::size_t doubles = number_doubles(series.items); doubles > 0)
        run.notes.push_back(fmt::format(
            "{}: {} items are copies of others; copies pair in the order of their names",
            series_text(series.name), doubles));
      state_->items[&run].erase(at);
    }
    for (ForeignSeries& series : run.series) settle_metric(series);
    results.runs.push_back(std::move(run));
  }
  drop_repeats(results.runs, is_printed, state_->ignored);
  tell_apart(results.runs);
  std::sort(results.runs.begin(), results.runs.end(), [](const ForeignRun& a, const ForeignRun& b) {
    return std::tie(a.model, a.stage, a.harness) < std::tie(b.model, b.stage, b.harness);
  });
  results.ignored = std::move(state_->ignored);
  return results;
}

void tell_apart(std::vector<ForeignRun>& runs) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<ForeignRun*>> alike;
  for (ForeignRun& run : runs) alike[{run.harness, run.model, run.stage}].push_back(&run);
  for (auto& [names, group] : alike) {
    if (group.size() < 2) continue;
    std::set<std::string> labels;
    for (const ForeignRun* run : group) labels.insert(run->label);
    for (ForeignRun* run : group) {
      if (run->label.empty() || run->needs_label) continue;
      run->needs_label = true;
      if (labels.size() < group.size() && !run->files.empty())  // gpu/a.csv beside npu/a.csv
        run->label = (run->files.front().parent_path().filename() / run->label).string();
    }
  }
}

std::string content_hash(std::string_view content) {
  // A file of 300 MB is mostly contents: each character costs a nanosecond here.
  std::string text(content.size(), '\0');
  char* out = text.data();
  bool space = false;
  for (const char c : content) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      space = out != text.data();
      continue;
    }
    if (space) *out++ = ' ';
    space = false;
    *out++ = c;
  }
  text.resize(static_cast<std::size_t>(out - text.data()));
  return sha256_hex(text).substr(0, kIdDigits);
}

}  // namespace nb
