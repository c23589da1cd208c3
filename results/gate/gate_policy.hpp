// How a suite is gated: the reviewed file behind `gate --policy` (suites/policies/*.json), or its
// defaults. Names the noise profile and the baselines; decides nothing.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "results/gate/noise_recipe.hpp"

namespace nb {

// Paths in a policy are relative to its file.
struct GateBaselines {
  std::string accepted;       // run folder or acceptance; empty: that of the suite (acceptance.hpp)
  std::string golden;         // run folder or acceptance that stays: slow drift shows; empty: none
  std::string golden_digest;  // run_digest of the golden run; empty: not checked
  FieldList fields();
};

struct GatePolicy {
  double alpha = 0.05;  // family-wise, Holm
  // The same for retrained models that nothing known changed but rounding (gate_judge.hpp).
  double alpha_retrained = 0.01;
  int min_seeds = 5;          // pairs (or seeds a side) to call retrained models equal or better
  double bpb_floor = 0.0005;  // bit/byte; smaller differences of training metrics never red
  bool exact_test = false;    // exact McNemar instead of mid-p
  std::vector<std::string> gated_tasks;    // the declared family; empty: all
  std::vector<std::string> higher, lower;  // metrics of other harnesses (stated_directions.hpp)
  std::map<std::string, double> margins;   // task → margin, overrides the formula
  std::map<std::string, double> noise_discordance;  // task or "<node>: <task>" → ψ; absent:
                                                    // "uncalibrated"
  std::map<std::string, double> noise_sd;  // metric or "<node>: <metric>" → SD over healthy seeds
  int noise_seeds = 10;                    // of how many seeds noise_sd was estimated
  bool allow_procedure_change = false;     // training that changed is a note, not SUSPICIOUS
  std::string noise_profile;               // file of `gate calibrate`; what is above counts first
  GateBaselines baselines;
  FieldList fields();

  // Of a noise profile, behind each noise_sd: how many seeds, and where they lie; and what was
  // asked.
  std::map<std::string, int> noise_seeds_of;
  std::map<std::string, double> noise_mean_of;
  std::vector<NoiseRecipe> noise_recipes;
  // Of the node ("eval base.core on ascend_910b3") before the one for all nodes.
  std::optional<double> discordance_of(const std::string& node, const std::string& task) const;
  struct Spread {
    double sd = 0;
    int seeds = 0;
    std::optional<double> mean = {};  // absent: the policy's own noise_sd
  };
  std::optional<Spread> spread_of(const std::string& node, const std::string& metric) const;
};

// Comments are allowed, unknown keys refused with the nearest known one; the noise profile is read.
// An empty path gives the defaults.
Result<GatePolicy> read_policy(const std::filesystem::path& path);

}  // namespace nb
