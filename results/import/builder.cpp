#include "results/import/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "harness/base/hash.hpp"
#include "results/compare/item_pairing.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/import/name_table.hpp"
#include "results/import/reducers.hpp"
#include "results/import/wanted_rows.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/item_lines.hpp"

namespace nb {
namespace {

constexpr std::size_t kIdDigits = 16;
constexpr std::uintmax_t kKeptBytes = std::uintmax_t{8} << 20;  // of JSON, parsed five times that

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

// What few items have: more samples than one, of which the first is apart.
struct OtherSamples {
  std::vector<Sample> samples;
  // As the first sample has them; where they differ the item has none.
  bool same_log_probs = true, same_prediction = true;
};

// The items of one series. There may be half a million.
struct Collecting {
  PackedItems items;          // without ids where there is no content, without values
  std::vector<Sample> first;  // of each item
  std::unordered_map<std::size_t, OtherSamples> others;
  NameTable by_source;

  const OtherSamples* others_of(std::size_t i) const {
    const auto at = others.find(i);
    return at == others.end() ? nullptr : &at->second;
  }
};

// What states a task of a run.
struct ClaimedTask {
  std::string stamp;
  std::filesystem::path file;
};

bool is_mark(double value) { return value == 0 || value == 1; }

// The item's samples in the order of their epochs.
std::vector<double> samples_of(const Sample& first, const OtherSamples& others) {
  std::vector<Sample> samples = others.samples;
  samples.push_back(first);
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.epoch < b.epoch; });
  std::vector<double> values;
  for (const Sample& one : samples) values.push_back(one.value);
  return values;
}

std::size_t samples_in(const Collecting& all) {
  std::size_t count = all.items.size();
  for (const auto& [i, others] : all.others) count += others.samples.size();
  return count;
}

std::string key_of(const ItemRecord& item) {
  if (!item.id.empty()) return item.id;
  if (!item.doc_hash.empty()) return sha256_hex("doc " + item.doc_hash).substr(0, kIdDigits);
  return kNamePrefix + sha256_hex(item.source_id).substr(0, kIdDigits);
}

// What became of the items of a series: in the order of their names, with values and ids.
struct Closed {
  PackedItems items;
  std::size_t too_few = 0;  // left out: the reducer gives them no value
  std::size_t doubles = 0;  // copies of others
};

// The values of the items by the reducer; nothing where it gives none.
std::vector<std::optional<double>> values_of(const Collecting& all, const std::string& reducer) {
  std::vector<std::optional<double>> values(all.items.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const OtherSamples* others = all.others_of(i);
    values[i] = others == nullptr ? all.first[i].value
                                  : reduced(reducer, samples_of(all.first[i], *others));
  }
  return values;
}

std::vector<std::uint32_t> by_name(const PackedItems& items) {
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return natural_less(items.source_id(a), items.source_id(b));
  };
  if (!std::is_sorted(order.begin(), order.end(), before))
    std::sort(order.begin(), order.end(), before);
  return order;
}

// Of equal ids the second and later get others, in the order of the items.
std::size_t number_doubles(PackedItems& items) {
  if (!repeated_item(items)) return 0;
  PackedItems numbered;
  std::unordered_map<std::string, int> seen;
  std::size_t doubles = 0;
  for (ItemRecord item : items) {
    const int k = ++seen[item.id];
    if (k > 1) {
      ++doubles;
      item.id = sha256_hex(fmt::format("{} {}", item.id, k)).substr(0, kIdDigits);
    }
    numbered.push_back(item);
  }
  items = std::move(numbered);
  return doubles;
}

Closed close_items(Collecting& all, const std::string& reducer) {
  const std::vector<std::optional<double>> values = values_of(all, reducer);
  const bool fractional = std::any_of(values.begin(), values.end(),
                                      [](const auto& value) { return value && !is_mark(*value); });
  Closed closed;
  ItemRecord item;
  for (const std::uint32_t i : by_name(all.items)) {
    if (!values[i]) {
      ++closed.too_few;
      continue;
    }
    all.items.read(i, item);
    if (const OtherSamples* others = all.others_of(i)) {
      const std::vector<double> samples = samples_of(all.first[i], *others);
      // The samples themselves are what a mean is of.
      if ((reducer.empty() || reducer == "mean") &&
          std::all_of(samples.begin(), samples.end(), is_mark))
        for (const double one : samples) item.sample_ok.push_back(one == 1 ? 1 : 0);
      if (!others->same_log_probs) item.log_probs.clear();
      if (!others->same_prediction) item.prediction.clear();
    }
    item.ok = *values[i] == 1;
    if (fractional) item.value = values[i];
    item.id = key_of(item);
    closed.items.push_back(item);
  }
  closed.doubles = number_doubles(closed.items);
  return closed;
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
                  std::vector<Sentence>& ignored) {
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
    ignored.push_back(message("import.repeats", run.files.front().string(),
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
  series.contradiction = message("import.scored_answers", series_text(series.name), samples, said);
}

}  // namespace

struct ForeignBuilder::State {
  Look look;
  WantedRows wanted;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  std::deque<ForeignRun> runs;
  // Of each run, in the order of its series.
  std::map<const ForeignRun*, std::map<SeriesName, Collecting>> items;
  std::map<const ForeignRun*, std::map<SeriesName, std::size_t>> series;
  std::map<const ForeignRun*, std::set<std::string>> notes;
  std::map<const ForeignRun*, std::map<std::string, ClaimedTask>> claims;  // by task
  std::map<const ForeignRun*, std::set<SeriesName>> dropped;               // and not stated again
  std::set<const ForeignRun*> printed;
  std::vector<Sentence> ignored;
  std::map<std::pair<std::filesystem::path, NotNumbers>, std::shared_ptr<const Json>> parsed;
  std::uintmax_t parsed_bytes = 0;  // of its texts
};

ForeignBuilder::ForeignBuilder() : state_(std::make_unique<State>()) {}
ForeignBuilder::~ForeignBuilder() = default;

void ForeignBuilder::look(Look look, std::vector<std::string> names) {
  state_->look = std::move(look);
  state_->wanted = WantedRows(std::move(names));
}

bool ForeignBuilder::is_looked_at() const { return state_->look != nullptr; }

bool ForeignBuilder::may_be_wanted(std::string_view row) const {
  return state_->wanted.may_hold(row);
}

bool ForeignBuilder::may_be_wanted(std::string_view row,
                                   std::initializer_list<std::string_view> keys) const {
  return state_->wanted.may_hold(row, {keys.begin(), keys.size()});
}

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
  note(run, message("import.two_values", key, at->second, value));
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

void ForeignBuilder::note(ForeignRun& run, Sentence sentence) {
  if (state_->notes[&run].insert(text_of(sentence)).second)
    run.notes.push_back(std::move(sentence));
}

bool ForeignBuilder::is_latest(ForeignRun& run, const std::string& task, const std::string& stamp,
                               const std::filesystem::path& file) {
  const auto [at, is_new] = state_->claims[&run].try_emplace(task, ClaimedTask{stamp, file});
  ClaimedTask& before = at->second;
  if (is_new || before.stamp == stamp) return true;
  const bool later = stamp > before.stamp;
  note(run, message("import.there_twice", task, (later ? file : before.file).string(),
                    (later ? before.file : file).string()));
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
    const std::size_t at = collecting.by_source.add(item.source_id);
    if (at == collecting.items.size()) {
      collecting.items.push_back(record);
      collecting.first.push_back({item.epoch, one.value});
      continue;
    }
    OtherSamples& others = collecting.others[at];
    if (collecting.first[at].epoch == item.epoch ||
        std::any_of(others.samples.begin(), others.samples.end(),
                    [&](const Sample& other) { return other.epoch == item.epoch; }))
      return bad_input(fmt::format(
          "{}: item {} of {} occurs twice; is the same file there twice, or are two runs in one?",
          where, item.source_id, series_text(one.series)));
    others.samples.push_back({item.epoch, one.value});
    const ItemRecord before = collecting.items[at];
    others.same_log_probs = others.same_log_probs && before.log_probs == record.log_probs;
    others.same_prediction = others.same_prediction && before.prediction == record.prediction;
  }
  return {};
}

void ForeignBuilder::ignore(Sentence sentence) { state_->ignored.push_back(std::move(sentence)); }

Result<std::shared_ptr<const Json>> ForeignBuilder::shared_json(const std::filesystem::path& path,
                                                                NotNumbers not_numbers) {
  const std::pair key(std::filesystem::absolute(path), not_numbers);
  if (const auto known = state_->parsed.find(key); known != state_->parsed.end())
    return known->second;
  NB_TRY(Json read, read_foreign_json(path, not_numbers));
  auto json = std::make_shared<const Json>(std::move(read));
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes > kKeptBytes) return json;
  if (state_->parsed_bytes + bytes > kKeptBytes) {
    state_->parsed.clear();
    state_->parsed_bytes = 0;
  }
  state_->parsed_bytes += bytes;
  state_->parsed.emplace(key, json);
  return json;
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
      for (const auto& [i, others] : all.others) most = std::max(most, 1 + others.samples.size());
      const std::size_t samples = samples_in(all);
      Closed closed = close_items(all, series.reducer);
      if (closed.too_few > 0)
        run.notes.push_back(message("import.few_samples", series_text(series.name), closed.too_few,
                                    series.reducer));
      hold_against_total(series, static_cast<std::int64_t>(closed.items.size()),
                         static_cast<std::int64_t>(samples));
      if (most > 1) series.must_match.try_emplace("samples", fmt::format("{}", most));
      if (closed.doubles > 0)
        run.notes.push_back(message("import.copies", series_text(series.name), closed.doubles));
      series.items = std::move(closed.items);
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
  // A file of 300 MB is mostly contents: no branch a character, since every sixth is a blank.
  std::string text(content.size(), '\0');
  char* out = text.data();
  bool was_blank = true;
  for (const char c : content) {
    const bool is_blank = (c == ' ') | (c == '\n') | (c == '\t') | (c == '\r');
    *out = is_blank ? ' ' : c;
    out += (is_blank & was_blank) ? 0 : 1;
    was_blank = is_blank;
  }
  if (was_blank && out != text.data()) --out;
  text.resize(static_cast<std::size_t>(out - text.data()));
  return sha256_hex(text).substr(0, kIdDigits);
}

}  // namespace nb
