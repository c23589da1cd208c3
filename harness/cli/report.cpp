#include "report/report.hpp"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/locations.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/open_index.hpp"
#include "harness/cli/verb.hpp"
#include "harness/profiler/open_profile.hpp"
#include "harness/profiler/report_section.hpp"
#include "harness/run/look_at_items.hpp"
#include "model/device/profile.hpp"
#include "results/compare/compare.hpp"
#include "results/gate/gate.hpp"
#include "results/gate/gate_policy.hpp"
#include "results/import/to_records.hpp"
#include "results/store/store.hpp"

namespace nb::cli {
namespace {

// More than a page of the report's size holds.
constexpr std::size_t kFlipsWithTexts = 2000;

struct ReportFlags {
  std::string run;
  std::string baseline;
  std::string policy;
  bool strict = false;
  std::string nights;
  std::string profile;
  std::string out;
  std::string data_dir;
  std::string language = "en";
  bool no_plots = false;
  bool json = false;
};

Json paths_json(const std::vector<std::filesystem::path>& paths) {
  Json list = Json::array();
  for (const auto& path : paths) list.push_back(path.string());
  return list;
}

int print(const ReportFiles& files, bool json) {
  if (json)
    return print_json({{"markdown", files.markdown.string()},
                       {"html", files.html.string()},
                       {"latex", files.latex.string()},
                       {"json", files.json.string()},
                       {"csv", paths_json(files.csv)},
                       {"plots", paths_json(files.plots)},
                       {"notes", files.notes}});
  say_line("{}", files.html.string());
  say_line("{}", files.markdown.string());
  for (const std::string& note : files.notes) say_line("{}", note);
  return kExitOk;
}

// Beside a file of another harness, inside a run of ours.
std::filesystem::path default_folder(const RunRecords& run) {
  std::error_code ignored;
  if (std::filesystem::is_directory(run.path, ignored)) return run.path / "report";
  return std::filesystem::path(run.path.string() + ".report");
}

Result<BroughtSection> profile_section(const std::string& path, Language language) {
  NB_TRY(const profiler::Profile profile, profiler::open_profile(path));
  NB_TRY(const profiler::Analysis analysis, profiler::analyse(profile, {}));
  return profiler::report_section(analysis, language);
}

// By its profile; of a device whose profile is not here nothing is known.
bool is_gpu(const std::string& device) {
  const auto profile = load_profile(device);
  return profile && profile->identity.kind == "gpu";
}

int report(const ReportFlags& options) {
  const auto language = parse_language(options.language);
  if (!language) return fail(language.error());
  if (!options.policy.empty() && options.baseline.empty())
    return fail(
        {ErrorCode::kBadInput,
         fmt::format("--policy {}: is of the gate; give --baseline RUN too", options.policy)});
  if (options.strict && options.baseline.empty())
    return fail({ErrorCode::kBadInput, "--strict: is of the gate; give --baseline RUN too"});
  const auto policy = read_policy(options.policy);
  if (!policy) return fail(policy.error());
  std::future<Result<RunRecords>> other;  // both at once
  if (!options.baseline.empty()) other = std::async([&] { return read_any_run(options.baseline); });
  const auto run = read_any_run(options.run);
  if (!run) return fail(run.error());
  ReportInput input;
  input.title = run->path.filename().string();
  input.run = &*run;
  input.comparisons = device_comparisons(*run, is_gpu);
  std::optional<RunRecords> baseline;
  if (!options.baseline.empty()) {
    auto records = other.get();
    if (!records) return fail(records.error());
    baseline = std::move(*records);
    input.title = baseline->path.filename().string() + " → " + input.title;
    input.comparisons.push_back(compare_runs(*baseline, *run));
    input.gate = gate(input.comparisons.back(), *policy, {.strict = options.strict});
  }
  input.add_texts = [&](ItemList& list) {
    add_texts(list, data_folder(options.data_dir), kFlipsWithTexts);
  };
  std::optional<RunIndex> nights;
  if (!options.nights.empty()) {
    auto index = open_index(options.nights);
    if (!index) return fail(index.error());
    input.nights = &nights.emplace(std::move(*index));
  }
  if (!options.profile.empty()) {
    const auto section = profile_section(options.profile, *language);
    if (!section) return fail(section.error());
    input.brought.push_back(*section);
  }
  ReportOptions report_options;
  report_options.language = *language;
  report_options.plots = !options.no_plots;
  const std::filesystem::path out =
      !options.out.empty() ? std::filesystem::path(options.out) : default_folder(*run);
  const auto files = write_report(input, out, report_options);
  if (!files) return fail(files.error());
  const int printed = print(*files, options.json);
  if (printed != kExitOk) return printed;
  std::vector<std::string> damaged = run->damaged;
  if (baseline) damaged.insert(damaged.end(), baseline->damaged.begin(), baseline->damaged.end());
  return fail_for_damaged(damaged);
}

}  // namespace

Action add_report(CLI::App& app) {
  auto options = std::make_shared<ReportFlags>();
  app.add_option("RUN", options->run,
                 "run folder (results/runs/<suite>), or a file or folder of another harness")
      ->required();
  app.add_option("--baseline", options->baseline, "the same, to compare and gate against");
  app.add_option(
      "--policy", options->policy,
      "with --baseline: gate policy (suites/policies/*.json); default: the built-in one");
  app.add_flag("--strict", options->strict,
               "with --baseline: \"can't tell\" is said to exit with 2, as in npubench gate");
  app.add_option("--nights", options->nights,
                 "folder of nights: a section of trends, the headline metrics over the runs whose "
                 "folders' names differ in digits only");
  app.add_option("--profile", options->profile,
                 "a section of what npubench profile says of this folder or trace");
  app.add_option("--out", options->out, "folder of the report (default: RUN/report, FILE.report)");
  app.add_option("--data-dir", options->data_dir,
                 "public data, for the questions of flips (default: NPUBENCH_DATA, else "
                 "~/.cache/npubench/data)");
  app.add_option("--lang", options->language, "language of the sentences: en or zh");
  app.add_flag("--no-plots", options->no_plots, "do not call gnuplot");
  app.add_flag("--json", options->json, "paths of the written files as JSON on stdout");
  app.footer(
      "Exit codes: 0 written, 4 written without damaged or unfinished nodes, 64 bad usage or "
      "input.");
  return [options] { return report(*options); };
}

}  // namespace nb::cli
