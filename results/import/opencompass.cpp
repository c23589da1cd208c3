// open-compass/opencompass and AISBench, which writes the same: results/<model>/<dataset>.json with
// details (an item each where --dump-eval-details was given). Scores are percentages there and
// shares here. Its summaries: opencompass_summary.cpp.
#include "results/import/opencompass.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/foreign/json_slices.hpp"
#include "results/foreign/lines.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

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

// Scores of one item, one a repetition. Some evaluators write none; then what was extracted must be
// the reference, and read_opencompass_results compares the mean with the file's own.
std::vector<double> scores_of(const Json& detail, bool derived) {
  std::vector<double> scores;
  if (!derived) {
    for (const Json* one :
         repetitions(first_member(detail, {"correct", "is_correct", "cascade_correct"}))) {
      double value = 0;
      if (number_of(*one, value)) scores.push_back(value);
    }
    return scores;
  }
  const Json& predictions = first_member(detail, {"predictions", "pred"});
  const Json& references = first_member(detail, {"references", "answer", "gold"});
  if (predictions.is_null() || references.is_null()) return scores;
  scores.push_back(text_at(predictions, 0) == text_at(references, 0) ? 1 : 0);
  return scores;
}

struct Details {
  const fs::path& path;
  SeriesName name;
  ForeignRun& run;
  ForeignBuilder& builder;
  bool derived = false;

  Result<void> take(const std::string& id, const Json& detail) {
    const std::string where = fmt::format("{}: /details/{}", path.string(), id);
    const std::vector<double> scores = scores_of(detail, derived);
    ForeignItem item;
    item.source_id = id;
    const Json& references = first_member(detail, {"references", "answer", "gold"});
    const Json& predictions = first_member(detail, {"predictions", "pred"});
    const Json& origin = member_of(detail, "origin_prediction");
    const Json& prompt = member_of(detail, "prompt");
    item.prompt = prompt_text(prompt.is_null() ? member_of(origin, "origin_prompt") : prompt);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      item.epoch = static_cast<std::int64_t>(i) + 1;
      item.gold = text_at(references, references.is_array() && scores.size() > 1 ? i : 0);
      item.prediction = text_at(predictions, i);
      if (!origin.is_object()) item.response = text_at(origin, i);
      item.content = item.prompt.empty() ? "" : item.prompt + "\n" + item.gold;
      const SeriesValue score{name, scores[i]};
      NB_TRY_VOID(builder.add_item(run, {&score, 1}, item, where));
    }
    return {};
  }
};

// The members of "details", one in memory at a time: an object, whose members without items
// ("type") are passed over, or a list.
using TakeItem = std::function<Result<void>(const std::string& id, const Json& detail)>;
using WantsItem = std::function<bool(std::string_view id)>;
Result<void> for_each_item(std::string_view details, const fs::path& path, MappedText& file,
                           const WantsItem& wants, const TakeItem& take) {
  const std::string where = path.string() + ": /details";
  const bool is_list = details.starts_with('[');
  if (!is_list && !details.starts_with('{')) return {};  // null: totals alone
  return for_each_slice(
      details, where,
      [&](const JsonSlice& slice) -> Result<void> {
        if ((!is_list && !slice.text.starts_with('{')) || !wants(slice.key)) return {};
        NB_TRY(const Json detail, parse_slice(slice.text, fmt::format("{}/{}", where, slice.key),
                                              NotNumbers::kRefused));
        return take(slice.key, detail);
      },
      &file);
}

struct Scored {
  std::size_t items = 0, scores = 0;
  double sum = 0;
  double mean() const { return scores > 0 ? sum / static_cast<double>(scores) : 0; }
  void add(const std::vector<double>& item) {
    items += item.empty() ? 0 : 1;
    scores += item.size();
    for (const double one : item) sum += one;
  }
};

}  // namespace

bool is_opencompass_results(const FileHead& head) {
  return head_has_key(head, "details") && !head_has_key(head, "results") &&
         (head.bytes.find("\"origin_prediction\"") != std::string_view::npos ||
          head.bytes.find("\"example_abbr\"") != std::string_view::npos);
}

Result<void> read_opencompass_results(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(MappedText file, MappedText::open(path));
  NB_TRY(const auto members, slices_of(file.text(), path.string(), &file));
  const auto stated = members.find("details");
  const std::string_view details = stated == members.end() ? "" : stated->second;
  const fs::path whole = fs::absolute(path);
  const std::string dataset = path.stem().string();
  ForeignRun& run = builder.run(kOpenCompass, whole.parent_path().filename().string());
  if (!builder.is_latest(run, dataset, opencompass_stamp(whole), path)) return {};
  run.files.push_back(path);
  // The first score is the one that the scores are of: accuracy, score, pass@1, …
  std::optional<std::string> first;
  for (const auto& [metric, text] : members) {
    if (metric == "details") continue;
    NB_TRY(const Json value,
           parse_slice(text, fmt::format("{}: /{}", path.string(), metric), NotNumbers::kRefused));
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
  const auto every = [](std::string_view) { return true; };
  const auto wanted = [&](std::string_view id) { return builder.may_be_wanted(id); };
  Scored scored, by_reference;  // by their scores, and by what was extracted
  std::size_t items = 0;
  NB_TRY_VOID(for_each_item(details, path, file, every, [&](const auto&, const Json& detail) {
    ++items;
    scored.add(scores_of(detail, false));
    by_reference.add(scores_of(detail, true));
    return Result<void>{};
  }));
  // A score of another name is a percentage where its own scores say so.
  ForeignSeries& own = builder.series(run, name);
  if (own.reported && !own.is_share && scored.items > 0 &&
      std::fabs(*own.reported / 100 - scored.mean()) < 1e-6) {
    own.reported = *own.reported / 100;
    own.is_share = true;
  }
  const bool derived = scored.items == 0 && by_reference.items == items && own.reported &&
                       std::fabs(*own.reported - by_reference.mean()) < 1e-6;
  const std::size_t unscored = items - (derived ? by_reference : scored).items;
  if (derived)
    run.notes.push_back(message("import.marks_derived", path.string()));
  else if (unscored > 0)
    builder.ignore(message("import.items_unmarked", path.string(), unscored));
  if (!derived && unscored == items) return {};
  Details reader{path, name, run, builder, derived};
  return for_each_item(details, path, file, wanted, [&](const std::string& id, const Json& detail) {
    return reader.take(id, detail);
  });
}

bool is_opencompass_predictions(const FileHead& head) {
  return head_has_key(head, "0") && head.bytes.find("\"origin_prompt\"") != std::string_view::npos;
}

Result<void> read_opencompass_predictions(const fs::path& path, ForeignBuilder& builder) {
  builder.ignore(message("import.predictions_unmarked", path.string()));
  return {};
}

}  // namespace nb
