#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/language.hpp"
#include "harness/base/progress.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/run_needs.hpp"
#include "harness/cli/verb.hpp"
#include "harness/doctor/bundle.hpp"
#include "harness/doctor/examine.hpp"
#include "harness/doctor/explain.hpp"
#include "harness/doctor/fix_script.hpp"
#include "harness/doctor/found_versions.hpp"
#include "harness/doctor/inputs.hpp"
#include "harness/doctor/machine.hpp"
#include "harness/doctor/rules_text.hpp"

namespace nb::cli {
namespace {

struct DoctorOptions {
  std::vector<std::string> inputs;
  std::string versions;
  std::string context = "train";
  std::string card;
  std::int64_t nodes = 0, ranks = 0;
  std::string language = "en";
  std::string root;
  std::string explained, fix_script, bundle, plan, results_dir;
  bool runs_nothing = false;
  bool json = false, is_strict = false, is_quiet = false, lists_rules = false;
};

Result<doctor::Facts> given_facts(const DoctorOptions& options) {
  doctor::Facts facts;
  facts.set("context", options.context);
  if (options.nodes > 0) facts.set("nodes", std::to_string(options.nodes));
  if (options.ranks > 0) facts.set("ranks", std::to_string(options.ranks));
  if (!options.card.empty()) facts.set("card", options.card);
  if (options.versions.empty()) return facts;
  NB_TRY(const auto versions, doctor::parse_versions(options.versions));
  for (const doctor::FoundVersion& one : versions) facts.set(one.component, one.version);
  return facts;
}

// Says how far it is in files that take seconds.
doctor::Inputs read_with_progress(const std::vector<std::string>& paths) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  constexpr std::uint64_t kLong = 64 * kMiB;
  std::unique_ptr<Progress> progress;
  std::string shown;
  return doctor::read_inputs(paths, [&](const std::string& name, std::uint64_t bytes) {
    if (bytes < kLong) return;
    if (name != shown) {
      std::error_code error;
      const auto size = std::filesystem::file_size(name, error);
      progress.reset();
      progress = std::make_unique<Progress>(
          name, error ? 0 : static_cast<std::int64_t>(size / kMiB), "MiB");
      shown = name;
    }
    progress->update(static_cast<std::int64_t>(bytes / kMiB));
  });
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Lists what goes in, then writes it; what became what is said here and stands in no file.
Result<void> write_bundle(const DoctorOptions& options, const doctor::Findings& findings,
                          bool asks_machine) {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  doctor::Redactor redactor(host, variable("USER"), variable("HOME"));
  const doctor::Bundle bundle = doctor::make_bundle(
      findings, asks_machine ? doctor::own_environment() : std::vector<doctor::Setting>(),
      options.inputs, redactor);
  say_on_stderr(doctor::list_text(bundle));
  for (const auto& [original, by] : redactor.replaced())
    say_on_stderr(fmt::format("  {} is {} there\n", visible_line(original), by));
  return write_file(options.bundle, doctor::bundle_bytes(bundle));
}

Error nothing_known(const doctor::Findings& findings) {
  const bool is_empty =
      std::all_of(findings.recognized.begin(), findings.recognized.end(),
                  [](const doctor::Recognized& one) { return one.kinds.empty(); });
  const std::string more =
      findings.recognized.size() > 1
          ? fmt::format(" and {} more",
                        with_commas(static_cast<long long>(findings.recognized.size() - 1)))
          : "";
  return {ErrorCode::kBadInput,
          fmt::format("{}{}: {}; doctor reads logs (of trainings and servers, plog, dmesg), "
                      "environment dumps, scripts and guides, pip lists, npu-smi, hccn_tool, "
                      "version files and rank tables",
                      findings.recognized.front().name, more,
                      is_empty ? "empty" : "nothing of a kind that is known")};
}

Result<int> doctor_verb(const DoctorOptions& options) {
  NB_TRY(const Language language, parse_language(options.language));
  if (options.lists_rules) {
    if (options.json) return print_json(doctor::rules_json());
    say("{}", doctor::rules_text(language));
    return kExitOk;
  }
  if (!options.explained.empty()) {
    if (options.json) {
      NB_TRY(const Json json, doctor::explain_json(options.explained));
      return print_json(json);
    }
    NB_TRY(const std::string text, doctor::explain_text(options.explained, language));
    say("{}", text);
    return kExitOk;
  }
  NB_TRY(doctor::Facts facts, given_facts(options));
  if (!options.plan.empty()) {
    SuiteOptions suite;
    suite.file = options.plan;
    suite.results_dir = options.results_dir;
    NB_TRY(const Planned planned, make_planned(suite));
    const Forecast expected = forecast(planned.plan, planned.options);
    add_needs(needs_of(planned, expected), facts);
    say_on_stderr(fmt::format("{}: {}\n", planned.suite.name, forecast_text(expected)));
    NB_TRY_VOID(check_data_is_there(planned.plan, planned.options, expected));
  }
  const doctor::Inputs inputs = read_with_progress(options.inputs);
  const bool asks_machine = options.inputs.empty() && options.versions.empty();
  const doctor::Findings findings =
      asks_machine ? doctor::examine_machine({.root = options.root,
                                              .runs_commands = !options.runs_nothing,
                                              .environment = doctor::own_environment(),
                                              .results = options.results_dir},
                                             facts)
                   : doctor::examine(inputs, facts);
  // No health: nothing was looked at.
  if (!options.inputs.empty() && doctor::knows_nothing(findings)) {
    if (inputs.errors.empty()) return tl::unexpected(nothing_known(findings));
    for (const Error& error : inputs.errors) fail(error);
    return kExitRun;
  }
  if (options.json)
    print_json(doctor::json_of(findings, language));
  else
    say("{}", doctor::text_of(findings, language, options.is_quiet));
  if (!options.fix_script.empty()) {
    NB_TRY_VOID(write_file(options.fix_script, doctor::fix_script(findings)));
    say_on_stderr(fmt::format("written: {}; source it\n", visible_line(options.fix_script)));
  }
  if (!options.bundle.empty()) NB_TRY_VOID(write_bundle(options, findings, asks_machine));
  for (const Error& error : inputs.errors) fail(error);
  const int code = doctor::exit_code(findings, options.is_strict);
  return code == 1 || inputs.errors.empty() ? code : kExitRun;
}

}  // namespace

Action add_doctor(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  app.add_option("FILES", options->inputs,
                 "what was captured: environment, script, guide, pip list, npu-smi, hccn_tool, "
                 "rank table, logs; folders and archives of them; - for standard input");
  app.add_option("--versions", options->versions,
                 "torch=2.7.1,torch_npu=2.7.1,cann=8.3.RC1,python=3.11,hdk=25.3.0");
  app.add_option("--context", options->context,
                 "what the settings are for: train, debug, benchmark")
      ->check(CLI::IsMember({"train", "debug", "benchmark"}))
      ->capture_default_str();
  app.add_option("--nodes", options->nodes, "how many machines the run has")->check(whole(1));
  app.add_option("--ranks", options->ranks, "how many processes the run has")->check(whole(1));
  app.add_option("--card", options->card, "the card's name: 910B3");
  app.add_option(
      "--explain", options->explained,
      "all that is known of a code, variable, rule or signature: EI0006, 507015, ENV052");
  app.add_option("--fix-script", options->fix_script,
                 "write the remedies about variables as a script to source");
  app.add_option("--bundle", options->bundle,
                 "write what was looked at as a .tar.gz to show to others: no secrets, names or "
                 "addresses");
  app.add_option("--plan", options->plan,
                 "a suite: are its data, memory and disk here? (a look at this machine)");
  app.add_option("--results-dir", options->results_dir,
                 "with --plan: where it would run (NPUBENCH_RESULTS, else results/runs)");
  app.add_option("--root", options->root, "a folder that stands for / (a machine made of files)");
  app.add_flag("--no-commands", options->runs_nothing, "run neither npu-smi nor hccn_tool");
  app.add_option("--lang", options->language, "language of the sentences: en or zh");
  app.add_flag("--strict", options->is_strict, "exit code 2 for warnings and what is unknown");
  app.add_flag("--quiet", options->is_quiet, "failures and warnings alone");
  app.add_flag("--json", options->json, "JSON on stdout, schema npubench.doctor/1");
  app.add_flag("--rules", options->lists_rules, "print every rule with its source, and end");
  app.footer(
      "Files are recognised by what stands in them. Exit codes: 0 nothing failed, 1 at least one "
      "FAIL, 2 warnings under --strict, 4 a file could not be read, 64 usage.");
  return [options] {
    const auto code = doctor_verb(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace nb::cli
