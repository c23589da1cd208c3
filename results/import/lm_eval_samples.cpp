// samples_<task>_<time>.jsonl of lm-evaluation-harness 0.4: one row per document and filter. The
// task stands in the file's name alone, the model in the results file of the same time beside it.
// Releases before pull request 2517 (0.4.7) do not say which filter a row is of: all documents of
// the first come first, then all of the next. 0.4.0 to 0.4.2 write one JSON array, without hashes.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/fs.hpp"
#include "results/foreign/json_slices.hpp"
#include "results/foreign/lines.hpp"
#include "results/foreign/text_stream.hpp"
#include "results/import/lm_eval.hpp"
#include "results/import/name_table.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

constexpr std::size_t kLongestPrediction = 160;  // bytes; whole generations are cut to it

// Keys of a row that are no metrics; the others are, where a row does not list them.
constexpr const char* kRowKeys[] = {"doc_id",      "doc",         "target",        "arguments",
                                    "resps",       "filter",      "metrics",       "doc_hash",
                                    "prompt_hash", "target_hash", "filtered_resps"};
// Their items' values are parts of a sum that is not a mean: lm_eval/api/metrics.py @ 4e7e0d47f.
constexpr const char* kNoMeans[] = {"perplexity",      "ppl",           "word_perplexity",
                                    "byte_perplexity", "bits_per_byte", "bypass"};
constexpr const char* kNoMeanAggregations[] = {
    "perplexity", "weighted_perplexity", "bits_per_byte", "bypass", "median", "max"};

template <std::size_t n>
bool is_one_of(const char* const (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// The results file of the run that wrote these samples.
std::optional<LmEvalResults> results_beside(const fs::path& samples, const std::string& stamp,
                                            ForeignBuilder& builder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator
           at(samples.parent_path().empty() ? "." : samples.parent_path(), error),
       end;
       !error && at != end; at.increment(error))
    if (at->path().extension() == ".json" && lm_eval_name(at->path()).stamp == stamp)
      found.push_back(at->path());
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) {
    // A damaged one is named when it is read itself.
    auto results = parse_lm_eval_results(path, builder);
    if (results && (results->json->contains("configs") || results->json->contains("versions")))
      return std::move(*results);
  }
  return std::nullopt;
}

// "samples_gsm8k" → gsm8k; before 0.4.3 "pretrained__a__b_gsm8k", told by the tasks of the results.
std::string task_of_stem(const std::string& stem, const std::optional<LmEvalResults>& results) {
  constexpr std::string_view kPrefix = "samples_";
  if (stem.starts_with(kPrefix)) return stem.substr(kPrefix.size());
  std::string longest;
  if (results)
    for (const auto& [task, row] : results->json->at("results").items())
      if (stem.ends_with("_" + task) && task.size() > longest.size()) longest = task;
  return longest.empty() ? stem : longest;
}

// Where rows are not labelled. The first filter is the first of the task's list.
std::vector<std::string> filters_of(const std::optional<LmEvalResults>& results,
                                    const std::string& task) {
  std::vector<std::string> names;
  if (!results) return names;
  for (const Json& one :
       member_of(member_of(member_of(*results->json, "configs"), task), "filter_list"))
    names.push_back(text_of(member_of(one, "name")));
  if (names.empty()) names.emplace_back("none");
  return names;
}

// A choice question's answers: [[log-probability, is greedy], …], as numbers or as texts; some
// files have the number alone.
std::vector<double> choices_of(const Json& responses) {
  constexpr const char* kGreedy[] = {"True", "False", "true", "false", "1.0", "0.0", "1", "0"};
  std::vector<double> values;
  if (!responses.is_array()) return values;
  for (const Json& one : responses) {
    double value = 0;
    if (!one.is_array() || one.empty() || !number_of(one[0], value)) return {};
    const bool is_pair = one.size() == 2 && is_one_of(kGreedy, text_of(one[1]));
    if (!is_pair && !(one.size() == 1 && one[0].is_number())) return {};
    values.push_back(value);
  }
  return values;
}

// Each choice's log-probability is NaN: the model broke, and the harness takes the first choice.
bool is_all_nan(const Json& responses) {
  const auto is_nan = [](const Json& one) {
    const Json& value = one.is_array() && !one.empty() ? one[0] : one;
    return value == "nan" || value == "NaN" || value == "-nan";
  };
  return responses.is_array() && !responses.empty() &&
         std::all_of(responses.begin(), responses.end(), is_nan);
}

// Argument number `part` of request number `request`: {"gen_args_0": {"arg_0": …}} or [[…], …].
const Json& argument(const Json& arguments, std::size_t request, std::size_t part) {
  static const Json kNothing;
  if (arguments.is_object())
    return member_of(member_of(arguments, fmt::format("gen_args_{}", request)),
                     fmt::format("arg_{}", part));
  if (!arguments.is_array() || request >= arguments.size()) return kNothing;
  const Json& one = arguments[request];
  return one.is_array() && part < one.size() ? one[part] : kNothing;
}

// Log-probabilities a character of each choice, as acc_norm ranks them; empty where the choices are
// not there. lm_eval/api/task.py @ 4e7e0d47f: lengths of the choices without the delimiter.
std::vector<double> per_character(const std::vector<double>& choices, const Json& arguments,
                                  const std::string& delimiter) {
  std::vector<double> values;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Json& text = argument(arguments, i, 1);
    if (!text.is_string()) return {};
    std::string_view choice = text.get_ref<const std::string&>();
    if (choice.starts_with(delimiter)) choice.remove_prefix(delimiter.size());
    const auto characters =
        std::count_if(choice.begin(), choice.end(), [](char c) { return (c & 0xC0) != 0x80; });
    if (characters == 0) return {};
    values.push_back(choices[i] / static_cast<double>(characters));
  }
  return values;
}

std::string cut(std::string text) {
  if (text.size() <= kLongestPrediction) return text;
  const std::string hash = content_hash(text).substr(0, 8);
  std::size_t end = kLongestPrediction - 24;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "… (" + hash + ")";
}

std::string document_text(const Json& row) {
  const Json& doc = member_of(row, "doc");
  if (!doc.is_object())
    return text_of(doc.is_null() ? argument(member_of(row, "arguments"), 0, 0) : doc);
  std::string text;
  for (const auto& [key, value] : doc.get_ref<const Json::object_t&>()) {
    text += key;
    text += ": ";
    append_text_of(value, text);
    text += '\n';
  }
  return text;
}

ForeignItem item_of(const Json& row, const std::string& source_id) {
  ForeignItem item;
  item.source_id = source_id;
  item.doc_hash = text_of(member_of(row, "doc_hash"));
  item.content = document_text(row);
  const std::string target = text_of(member_of(row, "target"));
  if (item.content.empty()) item.content = target;
  item.prompt = text_of(member_of(row, "prompt_hash"));
  if (item.prompt.empty()) item.prompt = text_of(argument(member_of(row, "arguments"), 0, 0));
  item.gold = cut(target);
  return item;
}

// What the row shows besides: the prompt, which often stands there as a hash, and what was scored
// behind it.
void add_shown(const Json& row, ForeignItem& item) {
  const Json& arguments = member_of(row, "arguments");
  item.prompt_text = text_of(argument(arguments, 0, 0));
  for (const char* key : {"question", "query", "problem", "prompt"})
    if (const Json& text = member_of(member_of(row, "doc"), key);
        item.question.empty() && text.is_string())
      item.question = text_of(text);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const Json& text = argument(arguments, i, 1); text.is_string())
      item.choices.push_back(text_of(text));
}

// Scores whose answers are chosen by other numbers have another prediction.
void answer_by(const std::vector<double>& choices, ForeignItem& item) {
  item.log_probs.assign(choices.begin(), choices.end());
  item.prediction.clear();
  if (choices.size() > 1)
    item.prediction =
        fmt::format("{}", std::max_element(choices.begin(), choices.end()) - choices.begin());
}

class SamplesReader {
 public:
  SamplesReader(const fs::path& path, ForeignBuilder& builder) : path_(path), builder_(builder) {
    const LmEvalName name = lm_eval_name(path);
    stamp_ = name.stamp;
    results_ = results_beside(path, stamp_, builder);
    task_ = task_of_stem(name.stem, results_);
    filters_ = filters_of(results_, task_);
    if (!results_) return;
    const Json& config = member_of(member_of(*results_->json, "configs"), task_);
    if (const Json& delimiter = member_of(config, "target_delimiter"); delimiter.is_string())
      delimiter_ = delimiter.get<std::string>();
  }

  // False: another file has this task of a later run.
  bool begin() {
    run_ = results_ ? &lm_eval_run(*results_, task_, builder_)
                    : &lm_eval_folder_run(fs::absolute(path_).parent_path(), "", builder_);
    if (!builder_.is_latest(*run_, task_, stamp_, path_)) return false;
    run_->files.push_back(path_);
    if (results_) state_lm_eval_task(*results_, task_, *run_, builder_);
    if (results_ && !has_lm_eval_task(*results_, task_))
      note(message("import.not_among_tasks", path_.filename().string(), task_,
                   results_->path.filename().string()));
    if (!results_) note(message("import.no_results_beside", path_.filename().string()));
    return true;
  }

  // Of a document that is wanted every row is: the rows before one may tell its filter.
  bool wants(std::string_view row) const { return builder_.may_be_wanted(row, {"doc_id"}); }

  Result<void> take(const Json& row, const std::string& where) {
    const std::string source_id = text_of(member_of(row, "doc_id"));
    if (source_id.empty()) return bad_input(where + ": a row without doc_id");
    NB_TRY(const std::string filter, filter_of(row, source_id, where));
    ForeignItem item = item_of(row, source_id);
    if (builder_.is_looked_at()) add_shown(row, item);
    note_settings(argument(member_of(row, "arguments"), 0, 1));
    NB_TRY(std::vector<SeriesValue> values, values_of(row, filter, where));
    if (values.empty()) return {};
    const Json& responses = member_of(row, "filtered_resps");
    std::vector<double> choices = choices_of(responses);
    ++rows_;
    if (is_all_nan(responses)) {
      ++not_numbers_;
      item.reason = "its log-probabilities are NaN";
      return builder_.add_item(*run_, values, item, where);
    }
    if (choices.empty()) {
      item.prediction = cut(prediction_of(responses));
      item.response = text_of(first_of(first_of(member_of(row, "resps"))));
      if (item.prediction == "[invalid]") item.reason = "no answer";
      return builder_.add_item(*run_, values, item, where);
    }
    // With acc_mutual_info the choices are scored again without the question.
    if (row.contains("acc_mutual_info")) choices.resize(choices.size() / 2);
    const auto normed = std::find_if(values.begin(), values.end(), [](const SeriesValue& one) {
      return one.series.metric == "acc_norm";
    });
    if (normed != values.end()) {
      answer_by(per_character(choices, member_of(row, "arguments"), delimiter_), item);
      NB_TRY_VOID(builder_.add_item(*run_, {&*normed, 1}, item, where));
      values.erase(normed);
    }
    if (values.empty()) return {};
    answer_by(choices, item);
    return builder_.add_item(*run_, values, item, where);
  }

  Result<void> end() {
    if (filters_.empty()) NB_TRY_VOID(check_rows());
    for (const std::string& metric : no_scores_)
      builder_.ignore(message("import.no_item_values", path_.string(), metric));
    for (const auto& [metric, count] : absent_)
      note(message("import.items_without", task_, count, metric));
    mark_primary(*run_, task_, builder_);
    say_settings();
    say_parts();
    return {};
  }

  std::string broken_off;  // where the file ends in the middle of a line

 private:
  void note(Sentence said) {
    if (std::find(run_->notes.begin(), run_->notes.end(), said) == run_->notes.end())
      run_->notes.push_back(std::move(said));
  }

  // Of rows without labels each item has as many.
  Result<void> check_rows() const {
    std::map<std::string_view, int> seen;
    for (std::size_t i = 0; i < rows_of_.size(); ++i)
      if (rows_of_[i] > 0) seen.emplace(documents_.name(i), rows_of_[i]);
    for (const auto& [id, count] : seen)
      if (count != seen.begin()->second)
        return bad_input(fmt::format(
            "{}: item {} has {} rows and item {} has {}; rows without a filter's name must be as "
            "many for each (is the file cut off, or are two runs in one?)",
            path_.string(), seen.begin()->first, seen.begin()->second, id, count));
    return {};
  }

  // How a row's answer was generated: {"until": […], "max_gen_toks": 256, "temperature": 0.0}.
  void note_settings(const Json& settings) {
    if (!settings.is_object()) return;
    for (const auto& [key, value] : settings.items()) {
      const auto [at, is_new] = settings_.try_emplace(key, value);
      if (!is_new && at->second != value) at->second = "differs from row to row";
    }
  }

  // The rows say what was done, the task's configuration what was meant.
  void say_settings() {
    for (const auto& [key, value] : settings_) {
      const std::string name = fmt::format("{}:{}", key, task_), text = text_of(value);
      if (text.empty()) continue;
      const auto [at, is_new] = run_->provenance.try_emplace(name, text);
      if (is_new || at->second == text) continue;
      note(message("import.generated_with", task_, key, text, at->second));
      at->second = text;
    }
  }

  // What is not the whole, or no answers of the model: nothing is judged by it.
  void say_parts() {
    std::int64_t said = 0;
    for (const ForeignSeries& one : run_->series)
      if (one.name.task == task_) said = std::max(said, one.reported_n);
    const auto items = static_cast<std::int64_t>(documents_.size());
    Sentence sentence;
    if (said > 0 && items > 0 && said != items)
      sentence = message("import.holds_items", path_.filename().string(), items, task_, said);
    if (!broken_off.empty())
      sentence = said > 0 ? message("import.broken_off_items_of", broken_off, items, said)
                          : message("import.broken_off_items", broken_off, items);
    if (not_numbers_ > 0) {
      Sentence broken =
          message("import.log_probs_nan", path_.filename().string(), not_numbers_, rows_);
      if (not_numbers_ == rows_)
        sentence = std::move(broken);
      else
        note(std::move(broken));
    }
    if (sentence.empty()) return;
    for (ForeignSeries& one : run_->series)
      if (one.name.task == task_) one.contradiction = sentence;
  }

  Result<std::string> filter_of(const Json& row, const std::string& source_id,
                                const std::string& where) {
    const std::size_t document = documents_.add(source_id);
    const Json& label = member_of(row, "filter");
    if (label.is_string()) return label == "none" ? "" : label.get<std::string>();
    rows_of_.resize(documents_.size());
    const auto before = static_cast<std::size_t>(rows_of_[document]++);
    if (filters_.empty()) return before == 0 ? "" : fmt::format("filter {}", before + 1);
    if (before >= filters_.size())
      return bad_input(fmt::format("{}: item {} has more rows than {} has filters ({})", where,
                                   source_id, task_, filters_.size()));
    return filters_[before] == "none" ? "" : filters_[before];
  }

  Result<std::vector<SeriesValue>> values_of(const Json& row, const std::string& filter,
                                             const std::string& where) {
    std::vector<SeriesValue> values;
    const auto take = [&](const std::string& metric, const Json& value) -> Result<void> {
      double number = 0;
      if (is_one_of(kNoMeans, metric) || is_no_mean(metric) || value.is_structured())
        no_scores_.insert(metric);
      else if (is_not_number(value))
        return bad_input(fmt::format("{}: {} is {}; put null there to leave it out", where, metric,
                                     text_of(value)));
      else if (number_of(value, number))
        values.push_back({{task_, filter, metric}, number});
      else
        ++absent_[metric];
      return {};
    };
    if (const Json& listed = member_of(row, "metrics"); listed.is_array()) {
      for (const Json& metric : listed)
        NB_TRY_VOID(take(text_of(metric), member_of(row, text_of(metric))));
      return values;
    }
    if (!row.is_object()) return values;
    for (const auto& [key, value] : row.get_ref<const Json::object_t&>())
      if (!is_one_of(kRowKeys, key)) NB_TRY_VOID(take(key, value));
    return values;
  }

  bool is_no_mean(const std::string& metric) {
    if (!results_) return false;
    for (const Json& one :
         member_of(member_of(member_of(*results_->json, "configs"), task_), "metric_list"))
      if (member_of(one, "metric") == metric)
        return is_one_of(kNoMeanAggregations, text_of(member_of(one, "aggregation")));
    return false;
  }

  static const Json& first_of(const Json& value) {
    return value.is_array() && !value.empty() ? value[0] : value;
  }
  // One text, or the first of several repeats.
  static std::string prediction_of(const Json& responses) { return text_of(first_of(responses)); }

  fs::path path_;
  ForeignBuilder& builder_;
  std::string stamp_, task_;
  std::string delimiter_ = " ";  // between a question and a choice
  std::optional<LmEvalResults> results_;
  std::vector<std::string> filters_;  // of rows without labels; empty: not known
  ForeignRun* run_ = nullptr;
  NameTable documents_;
  std::vector<int> rows_of_;  // of each document, those that have no label
  std::set<std::string> no_scores_;
  std::map<std::string, int> absent_;
  std::map<std::string, Json> settings_;  // of the rows; the first row's, or that they differ
  std::int64_t rows_ = 0, not_numbers_ = 0;
};

}  // namespace

bool is_lm_eval_samples(const FileHead& head) {
  std::string_view text = head.bytes;
  // One array, as 0.4.0 wrote it: judged by its first object.
  if (const std::size_t open = text.find_first_not_of(" \n\r\t");
      open != text.npos && text[open] == '[')
    text.remove_prefix(open + 1);
  const FileHead row{head.path, text, head.whole};
  // Long prompts may push the answers out of the head; write_out files of 0.3 have no doc.
  return head_has_key(row, "doc_id") && head_has_key(row, "doc") && head_has_key(row, "target") &&
         head_has_key(row, "arguments");
}

Result<void> read_lm_eval_samples(const fs::path& path, ForeignBuilder& builder) {
  SamplesReader reader(path, builder);
  if (!reader.begin()) return {};
  constexpr std::size_t kBegin = 256;  // blanks before the bracket; a row begins with a brace
  NB_TRY(const std::string begin, read_decoded(path, kBegin));
  const std::size_t first = begin.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == begin.npos || begin[first] != '[') {
    NB_TRY_VOID(for_each_json_line(
        path, [&](const Json& row, const std::string& where) { return reader.take(row, where); },
        NotNumbers::kAsTexts, &reader.broken_off,
        [&](std::string_view row) { return reader.wants(row); }));
    return reader.end();
  }
  NB_TRY_VOID(for_each_json_element(
      path, [&](const Json& row, const std::string& where) { return reader.take(row, where); }));
  return reader.end();
}

}  // namespace nb
