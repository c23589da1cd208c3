// A verb of the command line: its line in the table, and what its file must offer.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "harness/cli/options.hpp"

namespace nb::cli {

// Returns the exit code; expected trouble is printed by the verb (fail()), exceptions reach main.
using Action = std::function<int()>;

struct Verb {
  std::string_view name;
  std::string_view summary;
  std::string_view example;  // first thing that --help shows
  Action (*add)(CLI::App&);  // declares the options; the action runs after they are parsed
  // `npubench <verb> <command>`; the verb alone is the first of them. Empty: it has none here.
  std::span<const Verb> commands = {};
};

// All of them, as --help lists them (verbs.cpp).
std::span<const Verb> verbs();

Action add_plan(CLI::App& app);
Action add_run(CLI::App& app);
Action add_train(CLI::App& app);
Action add_eval(CLI::App& app);
Action add_chat(CLI::App& app);
Action add_serve(CLI::App& app);
Action add_tokenizer(CLI::App& app);
Action add_compare_runs(CLI::App& app);
Action add_compare_stages(CLI::App& app);
Action add_compare_effects(CLI::App& app);
Action add_compare_tensors(CLI::App& app);
Action add_compare_drift(CLI::App& app);
Action add_gate_check(CLI::App& app);
Action add_gate_accept(CLI::App& app);
Action add_gate_aa(CLI::App& app);
Action add_gate_calibrate(CLI::App& app);
Action add_nightly(CLI::App& app);
Action add_show(CLI::App& app);
Action add_audit(CLI::App& app);
Action add_report(CLI::App& app);
Action add_history(CLI::App& app);
Action add_import(CLI::App& app);
Action add_predict_step(CLI::App& app);
Action add_predict_sweep(CLI::App& app);
Action add_predict_claims(CLI::App& app);
Action add_predict_validate(CLI::App& app);
Action add_predict_calibrate(CLI::App& app);
Action add_doctor(CLI::App& app);
Action add_profile(CLI::App& app);
Action add_smi(CLI::App& app);
Action add_data(CLI::App& app);
Action add_list(CLI::App& app);
Action add_runs_list(CLI::App& app);
Action add_runs_metrics(CLI::App& app);
Action add_runs_gc(CLI::App& app);
Action add_runs_reindex(CLI::App& app);

}  // namespace nb::cli
