#include "results/compare/compare.hpp"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/compare_flips.hpp"
#include "harness/cli/compare_stages.hpp"
#include "harness/cli/compare_tensors.hpp"
#include "harness/cli/directions.hpp"
#include "harness/cli/verb.hpp"
#include "report/score_formats.hpp"
#include "results/compare/drift.hpp"
#include "results/compare/factorial.hpp"
#include "results/compare/score_table.hpp"
#include "results/import/to_records.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/store.hpp"

namespace nb::cli {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  std::vector<std::string> devices;
  std::vector<std::string> stages, metrics;
  std::string against;  // a device
  bool effects = false;
  StatedDirections directions;
  FlipOptions flips;
  TensorOptions tensors;
  bool summary = false;
  std::string format;  // "markdown", "latex", "csv"; empty: text
  bool json = false;
};

std::string printed_text(const Comparison& comparison, const CompareOptions& options) {
  if (options.format == "markdown") return scores_markdown(comparison);
  if (options.format == "latex") return scores_latex(comparison);
  if (options.format == "csv") return scores_csv(comparison);
  return options.summary ? score_lines(comparison) : comparison_text(comparison);
}

int print(const Comparison& comparison, const CompareOptions& options) {
  if (options.flips.is_asked) {
    if (const int printed = print_flips(comparison, options.flips, options.json);
        printed != kExitOk)
      return printed;
  } else if (!options.json) {
    say("{}", printed_text(comparison, options));
  } else if (const int printed = print_json(comparison_json(comparison)); printed != kExitOk) {
    return printed;
  }
  if (const int damaged = fail_for_damaged(comparison.damaged); damaged != kExitOk) return damaged;
  const bool nothing = comparison.pairs.empty() && comparison.unmatched.empty();
  return nothing || !comparison.why_incomparable().empty() ? kExitIncomparable : kExitOk;
}

int print_effects(const RunRecords& run, bool json) {
  const auto factorial = factorial_of(run);
  if (!factorial) return fail(factorial.error());
  if (!json)
    say("{}", factorial_text(*factorial));
  else if (const int printed = print_json(factorial_json(*factorial)); printed != kExitOk)
    return printed;
  return fail_for_damaged(factorial->damaged);
}

int print_drift(const RunRecords& run, const std::string& device, bool json) {
  const auto drift = drift_from(run, device);
  if (!drift) return fail(drift.error());
  if (!json)
    say("{}", drift_text(*drift));
  else if (const int printed = print_json(drift_json(*drift)); printed != kExitOk)
    return printed;
  return fail_for_damaged(drift->damaged);
}

int compare(const CompareOptions& options) {
  if (options.tensors.is_asked)
    return compare_tensors(options.a, options.b, options.tensors, options.json);
  const int ways = (options.b.empty() ? 0 : 1) + (options.devices.empty() ? 0 : 1) +
                   (options.stages.empty() ? 0 : 1) + (options.effects ? 1 : 0) +
                   (options.against.empty() ? 0 : 1);
  if (ways != 1)
    return fail(
        {ErrorCode::kBadInput,
         "compare: give two runs (compare A B), one run and two devices (compare RUN "
         "--devices X Y), all devices and one (compare drift RUN DEVICE) or two stages (compare "
         "stages RUN mid sft), or an experiment's run (compare effects RUN)"});
  // Both at once: each may have hundreds of megabytes.
  std::future<Result<RunRecords>> second;
  if (!options.b.empty()) second = std::async([&] { return read_any_run(options.b); });
  auto a = read_any_run(options.a);
  if (!a) return fail(a.error());
  if (a->records.empty()) return fail(nothing_found(*a, "").value());
  if (options.effects) return print_effects(*a, options.json);
  if (!options.against.empty()) return print_drift(*a, options.against, options.json);
  if (!options.stages.empty())
    return compare_stages(*a, {options.stages, options.metrics}, options.json);
  if (!options.devices.empty()) {
    if (options.devices[0] == options.devices[1])
      return fail({ErrorCode::kBadInput,
                   fmt::format("--devices: {} is given twice; give two", options.devices[0])});
    const auto comparison = compare_devices(*a, options.devices[0], options.devices[1]);
    return comparison ? print(*comparison, options) : fail(comparison.error());
  }
  auto b = second.get();
  if (!b) return fail(b.error());
  if (b->records.empty()) return fail(nothing_found(*b, "").value());
  if (const auto stated = state_directions(options.directions, {&*a, &*b}); !stated)
    return fail(stated.error());
  Comparison comparison = compare_runs(*a, *b, PairAcross::kDevices);
  if (is_same_run(options.a, options.b))
    comparison.cautions.insert(comparison.cautions.begin(), message("caution.one_run"));
  return print(comparison, options);
}

void add_a(CLI::App& app, CompareOptions& options, const char* name, const char* doc) {
  app.add_option(name, options.a, doc)->required();
}

void add_json(CLI::App& app, CompareOptions& options) {
  app.add_flag("--json", options.json, "JSON on stdout");
}

// What were flags until 0.1: each works as it did, and names its command.
void add_older_spellings(CLI::App& app, CompareOptions& options) {
  CLI::Option* stages = app.add_option("--stages", options.stages, "")
                            ->expected(2)
                            ->is_now("npubench compare stages RUN FIRST SECOND");
  app.add_option("--metric", options.metrics, "")->needs(stages)->is_now("");
  app.add_option("--against", options.against, "")->is_now("npubench compare drift RUN DEVICE");
  app.add_flag("--effects", options.effects, "")->is_now("npubench compare effects RUN");
  CLI::Option* tensors = app.add_flag("--tensors", options.tensors.is_asked, "")
                             ->is_now("npubench compare tensors A B");
  for (CLI::Option* option : add_tensor_options(app, options.tensors))
    option->needs(tensors)->is_now("");
}

}  // namespace

Action add_compare_runs(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  add_a(app, *options, "A",
        "run folder (results/runs/<suite>), or a file or folder of another harness");
  app.add_option("B", options->b, "the same, to compare with");
  app.add_option("--devices", options->devices, "two devices of run A instead of B")->expected(2);
  add_directions(app, options->directions);
  add_flip_options(app, options->flips);
  CLI::Option* summary =
      app.add_flag("--summary", options->summary, "one line a score, and nothing else");
  CLI::Option* format =
      app.add_option("--format", options->format,
                     "the table of scores alone: markdown, latex or csv (unrounded)")
          ->check(CLI::IsMember({"markdown", "latex", "csv"}))
          ->excludes(summary);
  app.add_flag("--json", options->json, "JSON on stdout")->excludes(summary)->excludes(format);
  add_older_spellings(app, *options);
  app.footer(
      "Results of lm-eval, evalscope, inspect_ai and others are taken as they are (npubench "
      "import --formats lists the formats). Their items pair by hashes or content, never by "
      "position.\n"
      "Records pair by kind, name, device and seed; what is left also across devices, and one "
      "evaluation a side by its tasks. A direction is a word only where an interval excludes "
      "zero.\n"
      "A flip is near a tie where both margins lie within max(.05 nat, 4 s), s the robust spread "
      "of the margins' changes (of logits in bf16 .125 nat: the last bits of two), else hard: with "
      "equal weights, rounding does not explain it.\n"
      "Exit codes: 0 compared, 3 no records pair or nothing of them can be compared, 4 and what "
      "could be compared where a node failed or is damaged, 64 bad usage or input.");
  return [options] { return compare(*options); };
}

Action add_compare_stages(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  add_a(app, *options, "RUN", "a run with both stages, a report card, or a table of scores");
  app.add_option("STAGES", options->stages, "two stages, the earlier first: mid sft")
      ->expected(2)
      ->required();
  app.add_option("--metric", options->metrics,
                 "these alone, e.g. mw/gsm8k; to be chosen before looking, since no correction is "
                 "made for the others");
  add_json(app, *options);
  app.footer(
      "Records of ours pair by seed; a card's scores, which have no items, are tested unpaired. "
      "Exit codes: 0 compared, 1 the second is worse in something, 3 nothing can be compared, 4 a "
      "node failed or is damaged, 64 bad usage or input.");
  return [options] { return compare(*options); };
}

Action add_compare_effects(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  options->effects = true;
  add_a(app, *options, "RUN", "run of a suite with /factorial (suites/README.md)");
  add_json(app, *options);
  app.footer("Exit codes: 0 shown, 4 a node failed or is damaged, 64 bad usage or input.");
  return [options] { return compare(*options); };
}

Action add_compare_tensors(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  options->tensors.is_asked = true;
  add_a(app, *options, "A", "file or run with tensors: nanochat_capture.py --tensors keeps them");
  app.add_option("B", options->b, "the same, to compare with; or --model");
  add_tensor_options(app, options->tensors);
  add_json(app, *options);
  app.footer(
      "Says how far outputs of ops are apart, and the first op that is whose difference exceeds "
      "rounding "
      "(harness/capture/README.md); of trainings of several ranks with tensor_digests in their "
      "suite the first step, rank and tensor that differs.");
  return [options] { return compare(*options); };
}

Action add_compare_drift(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  add_a(app, *options, "RUN", "run of a suite with several devices (suites/arithmetic.json)");
  app.add_option("DEVICE", options->against, "the one that the others are held against")
      ->required();
  add_json(app, *options);
  app.footer(
      "How far arithmetic alone makes losses and answers drift. Exit codes: 0 shown, 4 a node "
      "failed or is damaged, 64 bad usage or input.");
  return [options] { return compare(*options); };
}

}  // namespace nb::cli
