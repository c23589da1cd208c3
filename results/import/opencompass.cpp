// open-compass/opencompass and AISBench, which writes the same: results/<model>/<dataset>.json with
// details (an item each where --dump-eval-details was given). Scores are percentages there and
// shares here. Its summaries: opencompass_summary.cpp.
#include "results/import/opencompass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/import/lines.hpp"
#include "results/import/metric_kinds.hpp"
#include "results/import/readers.hpp"

namespace nb {
namespace {

// One value, or a list with one a repetition: opencompass/openicl/icl_evaluator @ a5acc4bb.
std::vector<const Json*> repetitions(const Json& value) {
  std::vector<const Json*> all;
  if (value.is_array())
    for (const Json& one : value) all.push_back(&one);
  else if (!value.is_null())
    all.push_back(&value);
  return all;
}

std::string text_at(const Json& value, std::size_t repetition) {
  const auto all = repetitions(value);
  return repetition < all.size() ? text_of(*all[repetition]) : "";
}

// Names of members differ between evaluators.
const Json& first_member(const Json& value, std::initializer_list<const char*> keys) {
  static const Json kNothing;
  for (const char* key : keys)
    if (const Json& found = member_of(value, key); !found.is_null()) return found;
  return kNothing;
}

// A prompt is a text, or a list of turns with roles.
std::string prompt_text(const Json& prompt) {
  if (!prompt.is_array()) return text_of(prompt);
  std::string text;
  for (const Json& turn : prompt)
    text += turn.is_object() ? text_of(member_of(turn, "prompt")) + "\n" : text_of(turn) + "\n";
  return text;
}

// Marks of one item, one a repetition. Some evaluators write none; then what was extracted must be
// the reference, and read_opencompass_results compares the mean with the file's own.
std::vector<double> marks_of(const Json& detail, bool derived) {
  std::vector<double> marks;
  if (!derived) {
    for (const Json* one :
         repetitions(first_member(detail, {"correct", "is_correct", "cascade_correct"}))) {
      double value = 0;
      if (number_of(*one, value)) marks.push_back(value);
    }
    return marks;
  }
  const Json& predictions = first_member(detail, {"predictions", "pred"});
  const Json& references = first_member(detail, {"references", "answer", "gold"});
  if (predictions.is_null() || references.is_null()) return marks;
  marks.push_back(text_at(predictions, 0) == text_at(references, 0) ? 1 : 0);
  return marks;
}

struct Details {
  const fs::path& path;
  SeriesName name;
  ForeignRun& run;
  ForeignBuilder& builder;
  bool derived = false;

  Result<void> take(const std::string& id, const Json& detail) {
    const std::string where = fmt::format("{}: /details/{}", path.string(), id);
    const std::vector<double> marks = marks_of(detail, derived);
    ForeignItem item;
    item.source_id = id;
    const Json& references = first_member(detail, {"references", "answer", "gold"});
    const Json& predictions = first_member(detail, {"predictions", "pred"});
    const Json& origin = member_of(detail, "origin_prediction");
    const Json& prompt = member_of(detail, "prompt");
    item.prompt = prompt_text(prompt.is_null() ? member_of(origin, "origin_prompt") : prompt);
    for (std::size_t i = 0; i < marks.size(); ++i) {
      item.epoch = static_cast<std::int64_t>(i) + 1;
      item.gold = text_at(references, references.is_array() && marks.size() > 1 ? i : 0);
      item.prediction = text_at(predictions, i);
      if (!origin.is_object()) item.response = text_at(origin, i);
      item.content = item.prompt.empty() ? "" : item.prompt + "\n" + item.gold;
      const SeriesValue mark{name, marks[i]};
      NB_TRY_VOID(builder.add_item(run, {&mark, 1}, item, where));
    }
    return {};
  }
};

// Items with their names, in the file's form: an object, or a list.
std::vector<std::pair<std::string, const Json*>> items_of(const Json& details) {
  std::vector<std::pair<std::string, const Json*>> items;
  if (details.is_array())
    for (std::size_t i = 0; i < details.size(); ++i)
      items.emplace_back(fmt::format("{}", i), &details[i]);
  else
    for (const auto& [id, detail] : details.items())
      if (detail.is_object()) items.emplace_back(id, &detail);
  return items;
}

struct Marked {
  std::size_t items = 0;
  double mean = 0;
};
Marked marked(const std::vector<std::pair<std::string, const Json*>>& items, bool derived) {
  Marked all;
  double sum = 0, count = 0;
  for (const auto& [id, detail] : items) {
    const std::vector<double> marks = marks_of(*detail, derived);
    all.items += marks.empty() ? 0 : 1;
    for (const double one : marks) sum += one;
    count += static_cast<double>(marks.size());
  }
  all.mean = count > 0 ? sum / count : 0;
  return all;
}

}  // namespace

bool is_opencompass_results(const FileHead& head) {
  return head_has_key(head, "details") && !head_has_key(head, "results") &&
         (head.bytes.find("\"origin_prediction\"") != std::string_view::npos ||
          head.bytes.find("\"example_abbr\"") != std::string_view::npos);
}

Result<void> read_opencompass_results(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json json, read_foreign_json(path));
  const fs::path whole = fs::absolute(path);
  const std::string dataset = path.stem().string();
  ForeignRun& run = builder.run(kOpenCompass, whole.parent_path().filename().string());
  if (!builder.is_latest(run, dataset, opencompass_stamp(whole), path)) return {};
  run.files.push_back(path);
  // The first score is the one that the marks are of: accuracy, score, pass@1, …
  std::optional<std::string> first;
  for (const auto& [metric, value] : json.items()) {
    if (!value.is_number()) continue;
    ForeignSeries& series = builder.series(run, {dataset, "", metric});
    // opencompass/summarizers/default.py @ a5acc4bb: accuracies and scores are percentages always,
    // and so are its other shares. What is not known stays as it stands, without a direction.
    const bool is_accuracy = metric.starts_with("accuracy") || metric == "score";
    const MetricKind* kind = metric_kind(metric);
    const bool is_share = is_accuracy || (kind != nullptr && kind->quantity == Quantity::kShare);
    series.reported = value.get<double>() * (is_share ? 0.01 : 1);
    series.is_share = is_share;
    if (is_accuracy) series.direction = Direction::kHigher;
    series.primary = false;
    if (!first || is_accuracy) first = metric;
  }
  const SeriesName name{dataset, "", first.value_or("accuracy")};
  builder.series(run, name).primary = true;
  const auto items = items_of(member_of(json, "details"));
  bool derived = false;
  // A score of another name is a percentage where its own marks say so.
  if (ForeignSeries& own = builder.series(run, name); own.reported && !own.is_share)
    if (const Marked marks = marked(items, false);
        marks.items > 0 && std::fabs(*own.reported / 100 - marks.mean) < 1e-6) {
      own.reported = *own.reported / 100;
      own.is_share = true;
    }
  if (marked(items, false).items == 0) {
    const Marked own = marked(items, true);
    const auto reported = builder.series(run, name).reported;
    derived = own.items == items.size() && reported && std::fabs(*reported - own.mean) < 1e-6;
  }
  const std::size_t unmarked = items.size() - marked(items, derived).items;
  if (derived)
    run.notes.push_back(fmt::format(
        "{}: its items have no marks; right is what was extracted as the reference says, whose "
        "mean is the accuracy of the file",
        path.string()));
  else if (unmarked > 0)
    builder.ignore(
        fmt::format("{}: {} of its items have no mark; the total counts", path.string(), unmarked));
  Details details{path, name, run, builder, derived};
  for (const auto& [id, detail] : items)
    if (derived || unmarked < items.size()) NB_TRY_VOID(details.take(id, *detail));
  return {};
}

bool is_opencompass_predictions(const FileHead& head) {
  return head_has_key(head, "0") && head.bytes.find("\"origin_prompt\"") != std::string_view::npos;
}

Result<void> read_opencompass_predictions(const fs::path& path, ForeignBuilder& builder) {
  builder.ignore(
      fmt::format("{}: predictions have no marks; opencompass writes them with --dump-eval-details",
                  path.string()));
  return {};
}

}  // namespace nb
