#include "results/import/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>

#include "harness/base/hash.hpp"

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

// The samples of one item in one series.
struct Scored {
  ItemRecord item;
  std::vector<std::int64_t> epochs;
  std::vector<double> values;
};

struct Collecting {
  std::vector<Scored> scored;
  std::unordered_map<std::string, std::size_t> by_source;  // looked up only, never walked
};

void close_item(Scored& scored, bool fractional) {
  double sum = 0;
  for (const double value : scored.values) sum += value;
  const double value = sum / static_cast<double>(scored.values.size());
  scored.item.ok = value == 1;
  if (fractional) scored.item.value = value;
  if (scored.values.size() > 1)
    for (const double one : scored.values)
      if (one == 0 || one == 1) scored.item.sample_ok.push_back(one == 1 ? 1 : 0);
  if (scored.item.sample_ok.size() != scored.values.size()) scored.item.sample_ok.clear();
}

// Marks other than right and wrong, or several samples whose mean is neither.
bool is_fractional(const std::vector<Scored>& scored) {
  return std::any_of(scored.begin(), scored.end(), [](const Scored& one) {
    return std::any_of(one.values.begin(), one.values.end(), [&](double value) {
      return (value != 0 && value != 1) || value != one.values[0];
    });
  });
}

std::string key_of(const ItemRecord& item) {
  if (!item.id.empty()) return item.id;
  return sha256_hex(item.doc_hash.empty() ? "id " + item.source_id : "doc " + item.doc_hash)
      .substr(0, kIdDigits);
}

std::size_t number_doubles(std::vector<Scored>& scored) {
  std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    return natural_less(a.item.source_id, b.item.source_id);
  });
  std::unordered_map<std::string, int> seen;
  std::size_t doubles = 0;
  for (Scored& one : scored) {
    one.item.id = key_of(one.item);
    const int k = ++seen[one.item.id];
    if (k == 1) continue;
    ++doubles;
    one.item.id = sha256_hex(fmt::format("{} {}", one.item.id, k)).substr(0, kIdDigits);
  }
  return doubles;
}

}  // namespace

struct ForeignBuilder::State {
  Look look;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  std::deque<ForeignRun> runs;
  // Of each run, in the order of its series.
  std::map<const ForeignRun*, std::map<SeriesName, Collecting>> items;
  std::map<const ForeignRun*, std::map<SeriesName, std::size_t>> series;
  std::vector<std::string> ignored;
};

ForeignBuilder::ForeignBuilder() : state_(std::make_unique<State>()) {}
ForeignBuilder::~ForeignBuilder() = default;

void ForeignBuilder::look(Look look) { state_->look = std::move(look); }

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

void ForeignBuilder::say(ForeignRun& run, const std::string& key, const std::string& value) {
  if (value.empty()) return;
  const auto [at, is_new] = run.provenance.try_emplace(key, value);
  if (is_new || at->second == value) return;
  std::string note =
      fmt::format("{} is {} in one of its files, {} in another", key, at->second, value);
  if (std::find(run.notes.begin(), run.notes.end(), note) == run.notes.end())
    run.notes.push_back(std::move(note));
}

ForeignSeries& ForeignBuilder::series(ForeignRun& run, const SeriesName& name) {
  const auto [at, is_new] = state_->series[&run].try_emplace(name, run.series.size());
  if (is_new) {
    ForeignSeries fresh;
    fresh.name = name;
    run.series.push_back(std::move(fresh));
  }
  return run.series[at->second];
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
  record.log_probs = item.log_probs;
  record.reason = item.reason;
  for (const SeriesValue& one : values) {
    if (!std::isfinite(one.value))
      return bad_input(fmt::format("{}: item {}: {} is not a finite number", where, item.source_id,
                                   series_text(one.series)));
    series(run, one.series);
    Collecting& collecting = state_->items[&run][one.series];
    const auto [at, is_new] =
        collecting.by_source.try_emplace(item.source_id, collecting.scored.size());
    if (is_new) {
      collecting.scored.push_back({record, {item.epoch}, {one.value}});
      continue;
    }
    Scored& before = collecting.scored[at->second];
    if (std::find(before.epochs.begin(), before.epochs.end(), item.epoch) != before.epochs.end())
      return bad_input(fmt::format(
          "{}: item {} of {} occurs twice; is the same file there twice, or are two runs in one?",
          where, item.source_id, series_text(one.series)));
    before.epochs.push_back(item.epoch);
    before.values.push_back(one.value);
    if (before.item.log_probs != record.log_probs) before.item.log_probs.clear();
    if (before.item.prediction != record.prediction) before.item.prediction.clear();
  }
  return {};
}

void ForeignBuilder::ignore(std::string sentence) {
  state_->ignored.push_back(std::move(sentence));
}

ForeignResults ForeignBuilder::finish() {
  ForeignResults results;
  for (ForeignRun& run : state_->runs) {
    for (ForeignSeries& series : run.series) {
      const auto at = state_->items[&run].find(series.name);
      if (at == state_->items[&run].end()) continue;
      std::vector<Scored>& scored = at->second.scored;
      const bool fractional = is_fractional(scored);
      std::size_t most = 1;
      for (Scored& one : scored) {
        close_item(one, fractional);
        most = std::max(most, one.values.size());
      }
      if (most > 1) series.must_match.try_emplace("samples", fmt::format("{}", most));
      if (const std::size_t doubles = number_doubles(scored); doubles > 0)
        run.notes.push_back(fmt::format(
            "{}: {} items are copies of others; copies pair in the order of their names",
            series_text(series.name), doubles));
      series.items.reserve(scored.size());
      for (Scored& one : scored) series.items.push_back(std::move(one.item));
      state_->items[&run].erase(at);
    }
    results.runs.push_back(std::move(run));
  }
  std::sort(results.runs.begin(), results.runs.end(), [](const ForeignRun& a, const ForeignRun& b) {
    return std::tie(a.model, a.stage, a.harness) < std::tie(b.model, b.stage, b.harness);
  });
  results.ignored = std::move(state_->ignored);
  return results;
}

std::string content_hash(std::string_view content) {
  std::string text;
  text.reserve(content.size());
  bool space = false;
  for (const char c : content) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      space = !text.empty();
      continue;
    }
    if (space) text += ' ';
    space = false;
    text += c;
  }
  return sha256_hex(text).substr(0, kIdDigits);
}

}  // namespace nb
