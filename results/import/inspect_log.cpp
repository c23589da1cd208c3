#include "results/import/inspect_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/ascii.hpp"
#include "results/foreign/json_slices.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/reducers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

// Arguments of a task by which it sets its number of worked examples.
constexpr const char* kShotArguments[] = {"fewshot", "num_fewshot", "few_shot",
                                          "shots",   "n_shots",     "fewshot_num"};
constexpr std::string_view kMembers[] = {"id",     "epoch",  "input",       "choices",
                                         "target", "error",  "attachments", "messages",
                                         "output", "scores", "score"};
constexpr const char* kReferences[] = {"attachment://", "tc://"};  // tc: before 0.3.50

bool is_nothing(const Json& value) { return value.is_null() || value == "NaN"; }

// scorer/_metric.py, value_to_float; it gives unknown words 0 and warns, here they are refused.
bool score_of(const Json& value, double& score) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "C" || lowered(text) == "yes" || lowered(text) == "true") return score = 1, true;
    if (text == "I" || text == "N" || lowered(text) == "no" || lowered(text) == "false")
      return score = 0, true;
    if (text == "P") return score = 0.5, true;
  }
  return number_of(value, score);
}

// The scores of graded answers. Numbers under a scorer's own name may be anything.
bool is_grade(const Json& value) {
  return value == "C" || value == "I" || value == "P" || value == "N";
}

// Results of the first releases: one scorer with its metrics. _log.py, convert_scorer_to_scorers.
Json with_scores(Json results) {
  const Json scorer = member_of(results, "scorer");
  if (!scorer.is_object() || results.contains("scores")) return results;
  Json score = scorer;
  score["scorer"] = text_of(member_of(scorer, "name"));
  if (results.contains("metrics")) score["metrics"] = results["metrics"];
  results["scores"] = Json::array({score});
  return results;
}

struct SampleTexts {
  const Json& attachments;
  const InspectLog::Attachment& elsewhere;

  // A text, or a list of parts {type, text | image | …}.
  Result<std::string> content(const Json& value) const {
    if (value.is_array()) {
      std::string all;
      for (const Json& part : value) {
        const Json& text = member_of(part, "text");
        NB_TRY(const std::string one, content(text.is_string() ? text : Json(text_of(part))));
        all += (all.empty() ? "" : "\n") + one;
      }
      return all;
    }
    std::string text = text_of(value);
    for (const std::string_view reference : kReferences) {
      if (!text.starts_with(reference)) continue;
      const std::string name = text.substr(reference.size());
      if (const Json& here = member_of(attachments, name); here.is_string())
        return here.get<std::string>();
      if (!elsewhere) return text;
      NB_TRY(std::string found, elsewhere(name));
      return found.empty() ? text : found;
    }
    return text;
  }

  // A text, or a list of messages {role, content}. Up to the first answer, which is the model's.
  Result<std::string> conversation(const Json& value) const {
    if (!value.is_array()) return content(value);
    std::string all;
    for (const Json& message : value) {
      const std::string role = text_of(member_of(message, "role"));
      if (role == "assistant") break;
      NB_TRY(const std::string text, content(member_of(message, "content")));
      all += fmt::format("{}{}: {}", all.empty() ? "" : "\n", role, text);
    }
    return all;
  }
};

std::string joined(const Json& value, std::string_view between) {
  if (!value.is_array()) return text_of(value);
  std::string all;
  for (const Json& one : value) all += (all.empty() ? "" : std::string(between)) + text_of(one);
  return all;
}

// The metric that is the mean of the scores; nullptr: there is none. An accuracy is a share of
// right answers, a mean may be one of anything.
struct MeanMetric {
  const Json* metric = nullptr;
  bool is_accuracy = false;
};
MeanMetric mean_of(const Json& metrics) {
  for (const std::string_view name : {"accuracy", "mean"})
    if (const Json& metric = member_of(metrics, name); metric.is_object())
      return {&metric, name == "accuracy"};
  return {};
}

// "mean", and where an older log says none, are the items' own values.
std::string filter_of(const std::string& reducer) { return reducer == "mean" ? "" : reducer; }

}  // namespace

InspectLog::InspectLog(std::filesystem::path path, ForeignBuilder& builder)
    : path_(std::move(path)), builder_(builder) {}

Result<void> InspectLog::header(const std::map<std::string, std::string_view>& members,
                                const std::string& where) {
  const auto read = [&](const char* key, Json& into) -> Result<void> {
    const auto at = members.find(key);
    if (at == members.end()) return {};
    NB_TRY(into, parse_slice(at->second, fmt::format("{}: /{}", where, key)));
    return {};
  };
  Json version, status;
  NB_TRY_VOID(read("version", version));
  NB_TRY_VOID(read("status", status));
  NB_TRY_VOID(read("eval", eval_));
  NB_TRY_VOID(read("plan", plan_));
  NB_TRY_VOID(read("results", results_));
  results_ = with_scores(std::move(results_));
  if (version.is_number() && version.get<double>() > 3)
    builder_.ignore(message("import.log_version", path_.string(), text_of(version)));
  status_ = status.is_string() ? status.get<std::string>() : "started";
  task_ = text_of(member_of(eval_, "task"));
  if (task_.empty() || text_of(member_of(eval_, "model")).empty())
    return bad_input(where + ": /eval: an inspect_ai log names its task and its model here");
  read_reducers();
  return {};
}

// Which reducers the log applies to each scorer, and which score is its headline: the first.
void InspectLog::read_reducers() {
  const Json& scores = member_of(results_, "scores");
  const Json& scorers = member_of(eval_, "scorers");
  const Json& config = member_of(eval_, "config");
  is_repeated_ = count_of(member_of(config, "epochs")) > 1;
  Json of_all = member_of(config, "epochs_reducer");
  if (of_all.is_string()) of_all = Json::array({of_all});
  if (of_all.is_array())
    for (const Json& one : of_all) reducers_[""].push_back(filter_of(text_of(one)));
  if (reducers_[""].empty()) reducers_[""].emplace_back();
  headline_reducer_ = reducers_[""][0];
  if (!scores.is_array() || scores.empty()) {
    if (scorers.is_array() && !scorers.empty()) headline_ = text_of(member_of(scorers[0], "name"));
    return;
  }
  headline_ = text_of(member_of(scores[0], "scorer"));
  headline_reducer_ = filter_of(text_of(member_of(scores[0], "reducer")));
  for (const Json& score : scores) {
    const std::string reducer = filter_of(text_of(member_of(score, "reducer")));
    for (const char* key : {"name", "scorer"}) {
      std::vector<std::string>& all = reducers_[text_of(member_of(score, key))];
      if (std::find(all.begin(), all.end(), reducer) == all.end()) all.push_back(reducer);
    }
  }
}

// Filters of the series that a scorer's scores go to. Of several epochs their mean is shown, too.
std::vector<std::string> InspectLog::reducers_of(const std::string& scorer) const {
  const auto at = reducers_.find(scorer);
  std::vector<std::string> all;
  for (const std::string& one : (at == reducers_.end() ? reducers_.at("") : at->second))
    if (is_known_reducer(one)) all.push_back(one);
  if (is_repeated_ && std::find(all.begin(), all.end(), "") == all.end()) all.emplace_back();
  return all;
}

ForeignRun* InspectLog::run() {
  if (is_asked_) return run_;
  is_asked_ = true;
  ForeignRun& run = builder_.run("inspect_ai", text_of(member_of(eval_, "model")));
  // One log may be there twice, as .eval and as JSON: each file is a statement of its own.
  const std::string stamp = text_of(member_of(eval_, "created")) + " " + path_.filename().string();
  if (!builder_.is_latest(run, task_, stamp, path_)) return nullptr;
  run.files.push_back(path_);
  say_settings(run);
  return run_ = &run;
}

void InspectLog::say_settings(ForeignRun& run) {
  const auto say = [&](const std::string& key, const Json& value) {
    if (!value.empty()) builder_.say(run, key, text_of(value));
  };
  const auto say_of_task = [&](const std::string& key, const Json& value) {
    say(fmt::format("{} of {}", key, task_), value);
  };
  const std::string model = text_of(member_of(eval_, "model"));
  if (const auto slash = model.find('/'); slash != std::string::npos)
    builder_.say(run, "backend", model.substr(0, slash));
  say("version", member_of(member_of(eval_, "packages"), "inspect_ai"));
  say("model_base_url", member_of(eval_, "model_base_url"));
  say("model_args", member_of(eval_, "model_args"));
  for (const Json* config :
       {&member_of(eval_, "model_generate_config"), &member_of(plan_, "config")})
    if (config->is_object())
      for (const auto& [key, value] : config->items()) say(key, value);
  say_of_task("date", member_of(eval_, "created"));
  say_of_task("limit", member_of(member_of(eval_, "config"), "limit"));
  say_of_task("arguments", member_of(eval_, "task_args"));
  say_of_task("solver", member_of(plan_, "steps"));
  say_of_task("scorers", member_of(eval_, "scorers"));
  say_of_task("commit", member_of(member_of(eval_, "revision"), "commit"));
}

bool InspectLog::is_headline(const SeriesName& name) const {
  const std::string_view metric = name.metric;
  return name.filter == headline_reducer_ &&
         (headline_.empty() || metric == headline_ ||
          (metric.starts_with(headline_) && metric.substr(headline_.size()).starts_with('.')));
}

Result<std::vector<SeriesValue>> InspectLog::scores_of(const Json& scores, ForeignItem& item,
                                                       const std::string& where) {
  std::vector<SeriesValue> values;
  for (const auto& [scorer, score] : scores.items()) {
    const Json& value = member_of(score, "value");
    if (item.prediction.empty()) item.prediction = text_of(member_of(score, "answer"));
    if (value == "N") item.reason = "no answer";
    const auto add = [&, &scorer = scorer](const std::string& metric,
                                           const Json& one) -> Result<void> {
      if (is_nothing(one)) {
        ++unscored_[metric];
        return {};
      }
      double number = 0;
      if (!score_of(one, number))
        return bad_input(fmt::format(
            "{}: /scores/{}/value: {} is no score; known are C, I, P, N, yes, no, true, "
            "false and finite numbers",
            where, metric, one.dump(-1, ' ', false, Json::error_handler_t::replace)));
      if (is_grade(one)) graded_.insert(metric);
      for (const std::string& reducer : reducers_of(scorer))
        values.push_back({{task_, reducer, metric}, number});
      return {};
    };
    if (value.is_object()) {
      for (const auto& [key, one] : value.items()) NB_TRY_VOID(add(scorer + "." + key, one));
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i)
        NB_TRY_VOID(add(fmt::format("{}.{}", scorer, i), value[i]));
    } else {
      NB_TRY_VOID(add(scorer, value));
    }
  }
  return values;
}

Result<void> InspectLog::sample(std::string_view text, const std::string& where,
                                const Attachment& attachment) {
  Json sample = Json::object();
  NB_TRY_VOID(for_each_slice(text, where, [&](const JsonSlice& slice) -> Result<void> {
    if (std::find(std::begin(kMembers), std::end(kMembers), slice.key) == std::end(kMembers))
      return {};
    NB_TRY(sample[slice.key], parse_slice(slice.text, where + ": /" + slice.key));
    return {};
  }));
  ++samples_;
  // One score without its scorer's name, in logs of the first releases: migrate_deprecated.
  if (const Json& one = member_of(sample, "score"); one.is_object() && !sample.contains("scores"))
    sample["scores"] = {{headline_.empty() ? "score" : headline_, Json(one)}};
  const Json& scores = member_of(sample, "scores");
  if (member_of(sample, "error").is_object()) ++failed_;
  if (!scores.is_object() || scores.empty()) {
    ++without_scores_;
    return {};
  }
  ForeignItem item;
  item.source_id = text_of(member_of(sample, "id"));
  if (item.source_id.empty()) return bad_input(where + ": /id: the sample has none");
  NB_TRY(const auto values, scores_of(scores, item, where));
  ForeignRun* to = values.empty() ? nullptr : run();
  if (to == nullptr) return {};
  if (const Json& epoch = member_of(sample, "epoch"); epoch.is_number_integer())
    item.epoch = epoch.get<std::int64_t>();
  const SampleTexts texts{member_of(sample, "attachments"), attachment};
  NB_TRY(const std::string input, texts.conversation(member_of(sample, "input")));
  NB_TRY(item.prompt, texts.conversation(member_of(sample, "messages")));
  NB_TRY(item.gold, texts.content(Json(joined(member_of(sample, "target"), " | "))));
  NB_TRY(item.response, texts.content(member_of(member_of(sample, "output"), "completion")));
  if (item.response.empty()) {
    const Json& choices = member_of(member_of(sample, "output"), "choices");
    if (choices.is_array() && !choices.empty()) {
      NB_TRY(item.response, texts.content(member_of(member_of(choices[0], "message"), "content")));
    }
  }
  const Json& choices = member_of(sample, "choices");
  item.content = fmt::format("{}\n{}\n{}", input, joined(choices, "\n"), item.gold);
  item.question = input;
  if (choices.is_array())
    for (const Json& choice : choices) item.choices.push_back(text_of(choice));
  for (const SeriesValue& value : values) {
    ForeignSeries& series = builder_.series(*to, value.series);
    series.primary = is_headline(value.series);
    series.reducer = value.series.filter;
    if (graded_.contains(value.series.metric)) be_share(series);
  }
  return builder_.add_item(*to, values, item, where);
}

void InspectLog::be_share(ForeignSeries& series) {
  series.direction = Direction::kHigher;
  series.is_share = true;
}

// The series that a reported score is the total of: of that name where samples made one.
ForeignSeries& InspectLog::series_of(ForeignRun& run, const Json& score) {
  const std::string name = text_of(member_of(score, "name"));
  const std::string scorer = text_of(member_of(score, "scorer"));
  const std::string reducer = filter_of(text_of(member_of(score, "reducer")));
  const std::string inner = name == scorer || scorer.empty() ? name : scorer + "." + name;
  SeriesName wanted{task_, reducer, inner};
  for (const std::string& metric : {name, inner})
    for (const ForeignSeries& one : run.series)
      if (one.name.task == task_ && one.name.filter == wanted.filter && one.name.metric == metric)
        wanted.metric = metric;
  ForeignSeries& series = builder_.series(run, wanted);
  series.primary = is_headline(wanted);
  if (!is_known_reducer(reducer))
    builder_.ignore(message("import.unknown_reducer", path_.string(), reducer, name));
  return series;
}

void InspectLog::totals() {
  const std::string path = path_.string();
  const Json& scores = member_of(results_, "scores");
  if (scores.is_array())
    for (const Json& score : scores) {
      const Json& metrics = member_of(score, "metrics");
      const MeanMetric mean = mean_of(metrics);
      if (mean.metric == nullptr) {
        if (metrics.is_object() && !metrics.empty())
          builder_.ignore(
              message("import.scorer_without_mean", path, text_of(member_of(score, "name"))));
        continue;
      }
      ForeignRun* to = run();
      if (to == nullptr) return;
      ForeignSeries& series = series_of(*to, score);
      double number = 0;
      if (mean.is_accuracy) be_share(series);
      if (number_of(member_of(*mean.metric, "value"), number)) series.reported = number;
      if (number_of(member_of(member_of(metrics, "stderr"), "value"), number))
        series.reported_stderr = number;
      if (const std::int64_t n = count_of(member_of(score, "scored_samples")); n > 0)
        series.reported_n = n;
    }
  if (run_ == nullptr) {
    if (!is_asked_) builder_.ignore(message("import.log_without_scores", path, samples_, task_));
    return;
  }
  const Json& dataset = member_of(eval_, "dataset");
  for (ForeignSeries& series : run_->series) {
    if (series.name.task != task_) continue;
    if (const std::int64_t n = count_of(member_of(dataset, "samples")); n > 0)
      series.available_n = n;
    if (const Json& version = member_of(eval_, "task_version"); !version.is_null())
      series.must_match["version"] = text_of(version);
    for (const char* key : kShotArguments)
      if (const Json& shots = member_of(member_of(eval_, "task_args"), key); !shots.is_null())
        series.must_match["shots"] = text_of(shots);
  }
  const auto note = [&](Sentence said) {
    if (std::find(run_->notes.begin(), run_->notes.end(), said) == run_->notes.end())
      run_->notes.push_back(std::move(said));
  };
  if (status_ != "success") note(message("import.log_status", task_, status_, samples_));
  if (without_scores_ > 0)
    note(message("import.samples_without_score", task_, without_scores_, samples_,
                 std::min(failed_, without_scores_)));
  for (const auto& [metric, count] : unscored_)
    note(message("import.not_scored", task_ + "/" + metric, count, samples_));
  for (ForeignSeries& series : run_->series)
    if (series.name.task == task_) find_parts(series);
}

// A log that was broken off, or whose samples mostly have no score.
void InspectLog::find_parts(ForeignSeries& series) const {
  const auto unscored = unscored_.find(series.name.metric);
  const std::int64_t missing =
      without_scores_ + (unscored == unscored_.end() ? 0 : unscored->second);
  if (status_ != "success")
    series.contradiction = message("import.log_status", task_, status_, samples_);
  else if (static_cast<double>(missing) > kMissingShare * static_cast<double>(samples_))
    series.contradiction = message("import.samples_scored", task_ + "/" + series.name.metric,
                                   samples_ - missing, samples_);
}

}  // namespace nb
