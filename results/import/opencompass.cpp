// open-compass/opencompass and AISBench, which writes the same: summary_<time>.csv (a row a dataset
// and metric, a column a model) and results/<model>/<dataset>.json with details (an item each where
// --dump-eval-details was given). Scores are percentages there and shares here.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "results/import/lines.hpp"
#include "results/import/readers.hpp"

namespace nb {
namespace {

constexpr const char* kOpenCompass = "opencompass";
constexpr const char* kColumns[] = {"dataset", "version", "metric", "mode"};
constexpr double kRounded = 0.005 + 1e-9;  // summaries have two decimals of a percentage

// 20251016_235030, a folder of one start of the program: what lies in it belongs together.
std::string stamp_of(const fs::path& path) {
  constexpr std::string_view kForm = "dddddddd_dddddd";
  std::string stamp;
  for (const fs::path& part : path.parent_path()) {
    const std::string name = part.string();
    if (name.size() != kForm.size()) continue;
    bool fits = true;
    for (std::size_t i = 0; i < kForm.size(); ++i)
      fits = fits && (kForm[i] == 'd' ? name[i] >= '0' && name[i] <= '9' : name[i] == kForm[i]);
    if (fits) stamp = name;
  }
  return stamp;
}

struct Cell {
  double value = 0;                   // as it stands
  std::optional<std::int64_t> right;  // "(7/8)"
  std::int64_t of = 0;
};

std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// "82.00" or AISBench's "82.00 (7/8)".
std::optional<Cell> cell_in(std::string_view text) {
  Cell cell;
  if (const std::size_t open = text.find('('); open != text.npos) {
    const std::string_view share = text.substr(open + 1, text.find(')', open) - open - 1);
    const std::size_t slash = share.find('/');
    if (slash == share.npos) return std::nullopt;
    const auto right = decimal(share.substr(0, slash)), of = decimal(share.substr(slash + 1));
    if (!right || !of || *of < 1 || *right > *of) return std::nullopt;
    cell.right = count_of(*right);
    cell.of = count_of(*of);
    text = text.substr(0, open);
  }
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto value = decimal(text);
  if (!value) return std::nullopt;
  cell.value = *value;
  return cell;
}

bool is_absent(const std::string& cell) { return cell.empty() || cell == "-" || cell == "nan"; }

class Summary {
 public:
  Summary(const fs::path& path, const CsvTable& table, ForeignBuilder& builder)
      : path_(path), table_(table), builder_(builder), stamp_(stamp_of(fs::absolute(path))) {
    counted_ = table.header.size() > 4 && table.header[4] == "total_count";
  }

  Result<void> read() {
    for (std::size_t column = counted_ ? 5 : 4; column < table_.header.size(); ++column)
      NB_TRY_VOID(read_model(column));
    return {};
  }

 private:
  Result<void> read_model(std::size_t column) {
    ForeignRun& run = builder_.run(kOpenCompass, table_.header[column]);
    run.files.push_back(path_);
    NB_TRY(const bool shares, are_shares(column));
    if (shares)
      run.notes.push_back(fmt::format(
          "{}: no score of {} is above 1, so they are taken for shares, not for percentages",
          path_.filename().string(), run.model));
    std::string dataset;
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      const std::vector<std::string>& cells = table_.rows[row];
      // Headings, and what was not run.
      if (is_absent(cells[2]) || is_absent(cells[column])) continue;
      const bool is_first = cells[0] != dataset;
      dataset = cells[0];
      if (!builder_.is_latest(run, dataset, stamp_, path_)) continue;
      NB_TRY_VOID(take(run, row, column, shares ? 1 : 0.01, is_first));
    }
    return {};
  }

  Result<void> take(ForeignRun& run, std::size_t row, std::size_t column, double scale,
                    bool is_first) {
    const std::vector<std::string>& cells = table_.rows[row];
    const Cell cell = *cell_in(cells[column]);
    ForeignSeries& series = builder_.series(run, {cells[0], "", cells[2]});
    const double value = cell.value * scale;
    // The results of the dataset itself are not rounded.
    if (series.reported && std::fabs(*series.reported - value) > kRounded * scale)
      run.notes.push_back(
          fmt::format("{} {} is {} in one of its files, {} in another; the later "
                      "counts",
                      cells[0], cells[2], *series.reported, value));
    if (!series.reported || std::fabs(*series.reported - value) > kRounded * scale)
      series.reported = value;
    series.primary = is_first && !is_absent(cells[1]);
    if (counted_) series.reported_n = count_of(decimal(cells[4]).value_or(0));
    if (cell.right) {
      series.reported_n = cell.of;
      const double share = static_cast<double>(*cell.right) / static_cast<double>(cell.of);
      if (std::fabs(share - value) > 0.0051)
        run.notes.push_back(fmt::format("{}:{}: {} says {} of {} are right, which is {:.4f}",
                                        path_.filename().string(), table_.lines[row], cells[column],
                                        *cell.right, cell.of, share));
    }
    // A hash of the prompt and the settings; groups have none.
    if (!is_absent(cells[1])) series.must_match["version"] = cells[1];
    if (!is_absent(cells[3])) builder_.say(run, "mode:" + cells[0], cells[3]);
    return {};
  }

  // Whether a column of scores has none above 1. Errors: a cell that is no score.
  Result<bool> are_shares(std::size_t column) {
    double highest = 0;
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      const std::string& text = table_.rows[row][column];
      if (is_absent(text)) continue;
      const auto cell = cell_in(text);
      if (!cell)
        return bad_input(
            fmt::format("{}:{}: \"{}\" is no score", path_.string(), table_.lines[row], text));
      highest = std::max(highest, cell->value);
    }
    return highest > 0 && highest <= 1;
  }

  fs::path path_;
  const CsvTable& table_;
  ForeignBuilder& builder_;
  std::string stamp_;
  bool counted_ = false;
};

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

bool is_opencompass_summary(const FileHead& head) {
  std::string_view text = head.bytes;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text.starts_with("dataset,version,metric,mode,");
}

Result<void> read_opencompass_summary(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const CsvTable table, read_csv(path));
  for (std::size_t i = 0; i < std::size(kColumns); ++i)
    if (table.header.size() < 5 || table.header[i] != kColumns[i])
      return bad_input(
          fmt::format("{}:1: the columns are not dataset, version, metric, mode and "
                      "one a model",
                      path.string()));
  return Summary(path, table, builder).read();
}

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
  if (!builder.is_latest(run, dataset, stamp_of(whole), path)) return {};
  run.files.push_back(path);
  // The first score is the one that the marks are of: accuracy, score, pass@1, …
  std::optional<std::string> first;
  for (const auto& [metric, value] : json.items()) {
    if (!value.is_number()) continue;
    ForeignSeries& series = builder.series(run, {dataset, "", metric});
    series.reported = value.get<double>() / 100;
    series.primary = false;
    const bool is_accuracy = metric.starts_with("accuracy") || metric == "score";
    if (!first || is_accuracy) first = metric;
  }
  const SeriesName name{dataset, "", first.value_or("accuracy")};
  builder.series(run, name).primary = true;
  const auto items = items_of(json.at("details"));
  bool derived = false;
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
