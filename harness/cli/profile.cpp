#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/language.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/profiler/analysis.hpp"
#include "harness/profiler/fit.hpp"
#include "harness/profiler/open_profile.hpp"
#include "harness/profiler/plots.hpp"
#include "harness/profiler/time_text.hpp"
#include "harness/profiler/waterfall.hpp"

namespace nb::cli {
namespace {

struct ProfileOptions {
  std::vector<std::string> profiles;
  std::string step = "all", rank = "all", device, csv, explain, language = "en";
  std::string plot, fit;
  std::string tokens;
  std::int64_t top = 10;
  bool json = false, is_strict = false;
};

Result<std::optional<std::int64_t>> asked_rank(const std::string& text) {
  if (text == "all") return std::optional<std::int64_t>();
  const auto check = whole(0);
  if (const std::string problem = check(text); !problem.empty())
    return bad_input(fmt::format("--rank {}: a number or all", text));
  return std::optional<std::int64_t>(std::stoll(text));
}

// "4096" of both, or "4096,8192" of A and B.
Result<profiler::Tokens> asked_tokens(const std::string& text) {
  if (text.empty()) return profiler::Tokens();
  const std::size_t comma = text.find(',');
  const auto a = profiler::number_of(text.substr(0, comma));
  const auto b = comma == text.npos ? a : profiler::number_of(text.substr(comma + 1));
  if (!a || !b || !(*a > 0) || !(*b > 0))
    return bad_input(
        fmt::format("--tokens-per-step {}: a number, or two (of A and of B): 4096,8192", text));
  return profiler::Tokens(std::pair(*a, *b));
}

// The card that the profile names, where we have one of that name.
Result<std::optional<DeviceProfile>> device_for(const ProfileOptions& options,
                                                const profiler::Profile& profile) {
  if (!options.device.empty()) {
    NB_TRY(DeviceProfile device, load_profile(options.device));
    return std::optional(std::move(device));
  }
  for (const profiler::Rank& rank : profile.ranks)
    for (const std::string& name : profile_names())
      if (rank.device == name) {
        NB_TRY(DeviceProfile device, load_profile(name));
        return std::optional(std::move(device));
      }
  return std::optional<DeviceProfile>();
}

Result<void> write_tables(const std::vector<profiler::Table>& tables, const fs::path& folder) {
  NB_TRY_VOID(make_folders(folder));
  for (const profiler::Table& table : tables)
    NB_TRY_VOID(write_file(folder / (std::string(table.key) + ".csv"), csv_of(table)));
  return {};
}

Result<int> explain(const ProfileOptions& options) {
  bool is_known = false;
  for (const profiler::Threshold& one : profiler::thresholds())
    if (one.verdict == options.explain) {
      is_known = true;
      say("{}: {} {} {} ({})\n", one.verdict, one.name, one.value, one.unit, one.source);
    }
  if (is_known) return kExitOk;
  std::vector<std::string> names;
  for (const profiler::Threshold& one : profiler::thresholds())
    if (names.empty() || names.back() != one.verdict) names.emplace_back(one.verdict);
  return bad_input(fmt::format("--explain {}: no such verdict{}", options.explain,
                               did_you_mean(options.explain, names)));
}

int exit_code(const std::vector<profiler::Verdict>& verdicts, bool is_strict) {
  for (const profiler::Verdict& verdict : verdicts)
    if (is_strict && verdict.state == profiler::VerdictState::kWarn) return 2;
  return kExitOk;
}

Result<int> show_one(const ProfileOptions& options, const profiler::Analysis& analysis,
                     Language language) {
  if (!options.csv.empty()) NB_TRY_VOID(write_tables(analysis.tables, options.csv));
  if (!options.plot.empty())
    NB_TRY_VOID(draw_plot_file(parts_plot(analysis, language), options.plot, "gnuplot"));
  if (options.json)
    print_json(json_of(analysis, language));
  else
    say("{}", text_of(analysis, language));
  return exit_code(analysis.verdicts, options.is_strict);
}

Result<int> write_fit(const ProfileOptions& options, const profiler::Analysis& analysis,
                      const std::optional<DeviceProfile>& device, Language language) {
  if (!device)
    return bad_input("--fit: constants of which device? --device NAME (npubench list devices)");
  const profiler::Calibration calibration = profiler::fit(analysis, *device);
  NB_TRY_VOID(write_json(options.fit, json_of(calibration, language)));
  if (options.json) return print_json(json_of(calibration, language));
  say("{}", text_of(calibration, language));
  return kExitOk;
}

Result<int> show_two(const ProfileOptions& options, const profiler::Analysis& a,
                     const profiler::AnalysisOptions& asked, Language language) {
  NB_TRY(const profiler::Profile profile, profiler::open_profile(options.profiles[1]));
  NB_TRY(const profiler::Analysis b, profiler::analyse(profile, asked));
  NB_TRY(const profiler::Tokens tokens, asked_tokens(options.tokens));
  if (const auto reason = profiler::refusal(a, b, tokens)) {
    say_on_stderr(fmt::format("npubench: {} and {} cannot be compared: {}\n", options.profiles[0],
                              options.profiles[1], *reason));
    return 3;
  }
  const profiler::Waterfall waterfall = waterfall_of(a, b, tokens, asked.top);
  if (!options.csv.empty())
    NB_TRY_VOID(write_tables({waterfall.table, waterfall.pairs}, options.csv));
  if (!options.plot.empty())
    NB_TRY_VOID(draw_plot_file(waterfall_plot(waterfall, language), options.plot, "gnuplot"));
  if (options.json) return print_json(json_of(waterfall, a, b, language));
  say("{}", text_of(waterfall, language));
  return kExitOk;
}

Result<int> profile_verb(const ProfileOptions& options) {
  NB_TRY(const Language language, parse_language(options.language));
  if (!options.explain.empty()) return explain(options);
  if (options.profiles.empty())
    return bad_input("which profile? a folder …_ascend_pt, a trace, or a table of either");
  if (!options.plot.empty()) NB_TRY_VOID(plot_format_of(options.plot));
  NB_TRY(const std::optional<std::int64_t> rank, asked_rank(options.rank));
  NB_TRY(const profiler::Profile profile, profiler::open_profile(options.profiles.front()));
  NB_TRY(const std::optional<DeviceProfile> device, device_for(options, profile));
  profiler::AnalysisOptions asked;
  asked.step = options.step;
  asked.rank = rank;
  asked.top = static_cast<std::size_t>(options.top);
  asked.device = device ? &*device : nullptr;
  NB_TRY(const profiler::Analysis analysis, profiler::analyse(profile, asked));
  if (!options.fit.empty()) return write_fit(options, analysis, device, language);
  if (options.profiles.size() == 2) return show_two(options, analysis, asked, language);
  return show_one(options, analysis, language);
}

}  // namespace

Action add_profile(CLI::App& app) {
  auto options = std::make_shared<ProfileOptions>();
  app.add_option("PROFILE", options->profiles,
                 "folder of Ascend's profiler or of msprof, one of its tables, cluster output, or "
                 "a trace (.json, .json.gz) of PyTorch or npubench; two: where the difference of "
                 "their steps comes from")
      ->expected(0, 2);
  app.add_option("--step", options->step, "a step's name, all, or steady: all but the first")
      ->capture_default_str();
  app.add_option("--rank", options->rank, "a rank's number, or all")->capture_default_str();
  app.add_option("--device", options->device,
                 "beside each kernel what this device would need (npubench list devices)");
  app.add_option("--top", options->top, "rows of long tables, as text")->check(whole(1, 100000));
  app.add_option("--csv", options->csv, "also write each table into this folder")
      ->type_name("FOLDER");
  CLI::Option* fit =
      app.add_option("--fit", options->fit,
                     "write constants of the machine that A was taken on, with ranges and with "
                     "reasons where one was not fitted; for predict --calibration FILE")
          ->type_name("FILE");
  app.add_option("--plot", options->plot,
                 "also draw the parts of each rank's step, or the waterfall: FILE.svg, FILE.pdf")
      ->type_name("FILE")
      ->excludes(fit);
  app.add_option("--tokens-per-step", options->tokens,
                 "of A and B: A,B, or one for both; B's step is scaled to A's tokens")
      ->type_name("A,B");
  app.add_option("--explain", options->explain, "the thresholds of a verdict with their sources");
  app.add_option("--lang", options->language, "language of the sentences: en or zh");
  app.add_flag("--strict", options->is_strict, "exit code 2 where a verdict warns");
  app.add_flag("--json", options->json, "JSON on stdout, schema npubench.profile/1");
  app.footer(
      "Profiles are recognised by what stands in them. Exit codes: 0 shown, 2 a verdict warns "
      "under "
      "--strict, 3 two cannot be compared, 4 it could not be read, 64 usage.");
  return [options] {
    const auto code = profile_verb(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace nb::cli
