// The noise profile of a suite: how many answers flip and how far metrics spread between healthy
// runs. Measured by `gate calibrate`, reviewed, committed, named by a policy: margins derive from
// it and never from the night that is judged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/gate/gate_policy.hpp"
#include "results/gate/noise_recipe.hpp"
#include "results/store/store.hpp"

namespace nb {

inline constexpr const char* kNoiseSchema = "npubench.noise/1";
inline constexpr const char* kFormerNoiseSchema = "npubench.card/1";  // the same fields; read too

// Answers of one task at one node, over pairs of runs of equal weights.
struct NoiseTask {
  std::string node;  // "eval base.core on ascend_910b3", without seed
  std::string task;
  std::int64_t pairs = 0, items = 0, flips = 0;  // items: of all pairs together
  double discordance = 0;                        // flips/items
  FieldList fields();
};

// One metric of one node over seeds.
struct NoiseMetric {
  std::string node, metric, unit;
  int seeds = 0;
  double mean = 0, sd = 0;
  double upper80 = 0;  // upper end of the one-sided 80 % interval of sd
  FieldList fields();
};

struct NoiseSource {
  std::string run;     // folder as it was given
  std::string digest;  // run_digest
  FieldList fields();
};

struct NoiseProfile {
  std::string schema = kNoiseSchema;
  std::string suite;
  std::vector<std::string> devices;
  std::string host;  // processor that computed the runs
  std::string made_at;
  std::vector<NoiseSource> sources;
  std::vector<NoiseTask> tasks;
  std::vector<NoiseMetric> metrics;
  std::vector<NoiseRecipe> recipes;  // of every training and evaluation with a seed
  std::vector<std::string> notes;    // what a reviewer must know: few seeds, no spread
  FieldList fields();
};

// Neighbours in the list that evaluated the same weights give flips; all seeds of all runs together
// give spreads (of a seed that occurs in several runs the last), from three seeds on. Refused: the
// same folder twice, damaged or failed nodes, nothing to measure, seeds of two recipes.
Result<NoiseProfile> calibrate(std::span<const RunRecords> runs);
// How many seeds a profile should have: with fewer the SD itself is known to a factor of two only.
inline constexpr int kNoiseSeeds = 5;

Result<NoiseProfile> read_noise_profile(const std::filesystem::path& path);
// Fills noise_* of the policy where it has no own value.
void apply(const NoiseProfile& profile, GatePolicy& policy);

}  // namespace nb
