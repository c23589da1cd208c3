// evalscope: scores item by item (reviews/<model>/<dataset>_<subset>.jsonl) and answers without
// scores (predictions). A row does not say its dataset: reports beside it do.
#include "results/import/evalscope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefault = "_default";  // the only subset of a dataset without any
constexpr const char* kSubsetOfAll = "default";

// What the path of a file below reviews or predictions says.
struct Place {
  std::string model, dataset, subset;
  std::int64_t answers = 0;  // of this subset by its report; 0: not said
};

// By the first metric that tells.
std::int64_t answers_in(const Json& report, const std::string& subset) {
  for (const Json& metric : member_of(report, "metrics")) {
    std::int64_t n = 0;
    for (const Json& category : member_of(metric, "categories"))
      for (const Json& one : member_of(category, "subsets"))
        if (text_of(member_of(one, "name")) == subset) n += count_of(member_of(one, "num"));
    if (n > 0) return n;
  }
  return 0;
}

// Reports of this run: <outputs>/reports/<folder>/<dataset>.json beside <outputs>/reviews/<folder>.
std::vector<fs::path> reports_beside(const fs::path& path) {
  std::vector<fs::path> reports;
  std::error_code error;
  const fs::path folder = path.parent_path();
  for (fs::directory_iterator
           at(folder.parent_path().parent_path() / "reports" / folder.filename(), error),
       end;
       !error && at != end; at.increment(error))
    if (at->path().extension() == ".json") reports.push_back(at->path());
  std::sort(reports.begin(), reports.end());
  return reports;
}

Place place_of(const fs::path& path, ForeignBuilder& builder) {
  const bool is_packed = path.extension() == ".gz";  // ….jsonl.gz
  const std::string stem = (is_packed ? path.stem() : path).stem().string();
  const fs::path folder = fs::absolute(path).parent_path();
  Place place{folder.filename().string(), stem, kSubsetOfAll};
  if (stem.ends_with(kDefault)) place.dataset = stem.substr(0, stem.size() - kDefault.size());
  std::size_t longest = 0;
  for (const fs::path& file : reports_beside(fs::absolute(path))) {
    const auto parsed = builder.shared_json(file);  // its own reader tells what is wrong with it
    if (!parsed) continue;
    const Json& report = **parsed;
    // Folders are named for the model as it was called, not always as the report calls it.
    if (const Json& model = member_of(report, "model_name"); model.is_string())
      place.model = model.get<std::string>();
    const std::string dataset = text_of(member_of(report, "dataset_name"));
    if (dataset.size() <= longest || !stem.starts_with(dataset + "_")) continue;
    longest = dataset.size();
    place.dataset = dataset;
    place.subset = stem.substr(dataset.size() + 1);
    place.answers = answers_in(report, place.subset);
  }
  return place;
}

// "**User**: \nWhy?" of a conversation that is one question → "Why?"; messages alike. So rows
// of 1.0 (input) and of later releases (messages) are the same item.
std::string question_of(const Json& row) {
  constexpr std::string_view kUser = "**User**:";
  const Json& messages = member_of(row, "messages");
  std::string all;
  std::size_t count = 0;
  if (messages.is_array()) {
    for (const Json& message : messages) {
      const std::string role = text_of(member_of(message, "role"));
      if (role == "assistant") break;
      const Json& content = member_of(message, "content");
      std::string text;
      if (content.is_array())
        for (const Json& part : content) text += text_of(member_of(part, "text"));
      else
        text = text_of(content);
      std::string name = role;
      if (!name.empty() && name[0] >= 'a' && name[0] <= 'z')
        name[0] = static_cast<char>(name[0] - 'a' + 'A');
      all += fmt::format("{}**{}**: {}", all.empty() ? "" : "\n\n", name, text);
      ++count;
    }
  } else {
    all = text_of(member_of(row, "input"));
    for (std::size_t at = all.find("**: "); at != all.npos; at = all.find("**: ", at + 1)) ++count;
  }
  if (count == 1 && all.starts_with(kUser)) return all.substr(kUser.size());
  return all;
}

// A score, or a map of metric → score. Null is absent.
Result<std::vector<SeriesValue>> marks_in(const Json& value, const std::string& dataset,
                                          const std::string& metric, const std::string& where) {
  std::vector<SeriesValue> values;
  const auto add = [&](const std::string& name, const Json& one) -> Result<void> {
    if (one.is_null()) return {};
    double score = 0;
    if (!number_of(one, score))
      return bad_input(
          fmt::format("{}: the score {} is {}; a number is expected", where, name,
                      one.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80)));
    values.push_back({{dataset, "", name}, score});
    return {};
  };
  if (!value.is_object()) {
    NB_TRY_VOID(add(metric, value));
    return values;
  }
  for (const auto& [name, one] : value.items()) NB_TRY_VOID(add(name, one));
  return values;
}

struct Reviews {
  ForeignBuilder& builder;
  ForeignRun& run;
  Place place;
  std::int64_t unscored = 0;

  Result<void> add(ForeignItem& item, const std::vector<SeriesValue>& values,
                   const std::string& main, const std::string& where) {
    if (values.empty()) {
      ++unscored;
      return {};
    }
    const std::string& headline = main.empty() ? values[0].series.metric : main;
    for (const SeriesValue& one : values)
      builder.series(run, one.series).primary = one.series.metric == headline;
    return builder.add_item(run, values, item, where);
  }

  Result<void> row(const Json& row, const std::string& where) {
    const Json& sample = member_of(row, "sample_score");
    const Json& score = member_of(sample, "score");
    const std::string index = text_of(member_of(row, "index"));
    if (index.empty() || !score.is_object())
      return bad_input(where + ": a review has an index and sample_score/score");
    ForeignItem item;
    // Repeats of one question are samples of their own that share a group.
    const Json& group = member_of(sample, "group_id");
    item.source_id = fmt::format("{}/{}", place.subset, group.is_null() ? index : text_of(group));
    if (const Json& id = member_of(sample, "sample_id"); id.is_number_integer())
      item.epoch = count_of(id) + 1;
    item.gold = text_of(member_of(row, "target"));
    item.prompt = question_of(row);
    item.content = item.prompt + "\n" + item.gold;
    item.prediction = text_of(member_of(score, "extracted_prediction"));
    item.response = text_of(member_of(score, "prediction"));
    NB_TRY(const auto values, marks_in(member_of(score, "value"), place.dataset, "acc", where));
    return add(item, values, text_of(member_of(score, "main_score_name")), where);
  }

  // Before 1.0: choices[].review.result, several choices of one answer.
  Result<void> old_row(const Json& row, const std::string& where) {
    const std::string index = text_of(member_of(row, "index"));
    const Json& choices = member_of(row, "choices");
    if (index.empty() || !choices.is_array())
      return bad_input(where + ": a review has an index and choices");
    const Json& subset = member_of(row, "subset_name");
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const Json& review = member_of(choices[i], "review");
      ForeignItem item;
      item.source_id =
          fmt::format("{}/{}", subset.is_string() ? text_of(subset) : place.subset, index);
      item.epoch = static_cast<std::int64_t>(i) + 1;
      item.gold = text_of(member_of(review, "gold"));
      item.prediction = text_of(member_of(review, "pred"));
      item.response = text_of(member_of(member_of(choices[i], "message"), "content"));
      for (const char* key : {"raw_input", "input", "prompt"})
        if (item.content.empty()) item.content = text_of(member_of(row, key));
      if (!item.content.empty()) item.content += "\n" + item.gold;
      NB_TRY(const auto values, marks_in(member_of(review, "result"), place.dataset, "acc", where));
      NB_TRY_VOID(add(item, values, "", where));
    }
    return {};
  }
};

}  // namespace

std::string evalscope_outputs(const fs::path& path) {
  return fs::absolute(path).parent_path().parent_path().parent_path().filename().string();
}

bool is_evalscope_reviews(const FileHead& head) {
  constexpr std::array<std::string_view, 2> kNow = {"index", "sample_score"};
  if (head_is_jsonl_with(head, kNow)) return true;
  // Rows before 1.0; answers that were not reviewed have the same keys.
  constexpr std::array<std::string_view, 3> kBefore = {"index", "choices", "review_id"};
  return head_is_jsonl_with(head, kBefore);
}

Result<void> read_evalscope_reviews(const fs::path& path, ForeignBuilder& builder) {
  std::optional<Reviews> reviews;
  std::int64_t rows = 0;
  bool is_latest = true;
  std::string broken_off;
  NB_TRY_VOID(for_each_json_line(
      path,
      [&](const Json& row, const std::string& where) {
        if (!reviews) {
          Place place = place_of(path, builder);
          ForeignRun& run = builder.run(kEvalscope, place.model);
          is_latest = builder.is_latest(run, place.dataset, evalscope_outputs(path), path);
          if (is_latest) run.files.push_back(path);
          reviews.emplace(Reviews{builder, run, std::move(place)});
        }
        ++rows;
        if (!is_latest) return Result<void>{};
        return row.contains("sample_score") ? reviews->row(row, where)
                                            : reviews->old_row(row, where);
      },
      NotNumbers::kRefused, &broken_off,
      [&](std::string_view row) {
        return !reviews || builder.may_be_wanted(row, {"group_id", "index"});
      }));
  if (!reviews) return {};
  const std::string dataset = reviews->place.dataset;
  if (reviews->unscored > 0)
    reviews->run.notes.push_back(message("import.reviews_unscored", dataset, reviews->unscored,
                                         rows, reviews->place.subset));
  Sentence part;  // why what is here is not the whole
  if (const std::int64_t said = reviews->place.answers; !broken_off.empty())
    part = said > 0 ? message("import.broken_off_reviews_of", broken_off, rows, said)
                    : message("import.broken_off_reviews", broken_off, rows);
  else if (said > 0 && said != rows)
    part = message("import.holds_reviews", path.string(), rows, said);
  if (static_cast<double>(reviews->unscored) > kMissingShare * static_cast<double>(rows))
    part = message("import.reviews_scored", path.string(), rows - reviews->unscored, rows);
  if (!part.empty())
    for (ForeignSeries& series : reviews->run.series)
      if (series.name.task == dataset) series.contradiction = part;
  return {};
}

bool is_evalscope_predictions(const FileHead& head) {
  constexpr std::array<std::string_view, 3> kNow = {"index", "model", "model_output"};
  constexpr std::array<std::string_view, 3> kBefore = {"index", "choices", "answer_id"};
  return head_is_jsonl_with(head, kNow) ||
         (head_is_jsonl_with(head, kBefore) && !is_evalscope_reviews(head));
}

Result<void> read_evalscope_predictions(const fs::path& path, ForeignBuilder& builder) {
  builder.ignore(message("import.before_marks", path.string()));
  return {};
}

}  // namespace nb
