// The statistical half of the gate: verdicts from counts and seeds once a family is complete,
// because Holm needs all p values of the night. For gate.cpp and its tests; no records, no files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/gate/gate.hpp"

namespace nb {

// Fixed checkpoint, paired items of one task.
struct ItemTest {
  TaskVerdict verdict;  // metric, where and values filled; judged here
  std::string task;     // "mw/facts": key of margins and noise profile
  PairedCounts counts;
  std::string node = {};  // "eval base.core on ascend_910b3": with it the profile is asked first
};
void judge_items(std::vector<ItemTest>& family, const GatePolicy& policy);

// How far one retrained run may lie from another by chance: an upper bound of the SD of one metric
// over seeds, and where it comes from.
struct SeedNoise {
  double sd = 0;
  Sentence source;
  bool is_profile = false;  // margins follow from it, not from the baseline's own seeds
  int seeds = 0;            // behind a profile's sd
};
// From a noise profile of `seeds` seeds: the upper end of the 80 % interval of its SD.
SeedNoise noise_of_profile(double sd, int seeds);
// From at least 3 values of the baseline itself; of shares with n items at least their binomial
// standard error.
SeedNoise noise_of_seeds(const std::vector<double>& base, const std::string& unit, std::int64_t n);
// Without either. A loss: the step-to-step noise of the baseline's own loss curve, which contains
// all that differs between seeds and the noise of single batches on top: two to three times the SD
// of val_bpb in small runs of the generated world (1.7 % against 0.9 %, 3.7 % against 1.2 %). A
// share of n items: binomial standard error + 5 pp.
SeedNoise noise_of_curve(double value, double relative_step_noise);
SeedNoise noise_of_share(double share, std::int64_t n);

// Retrained models: one metric over the seeds of each side.
struct SeedTest {
  TaskVerdict verdict;
  std::string unit;
  Direction direction = Direction::kHigher;  // never kNone
  bool paired = true;                        // else independent sides
  std::vector<double> base, candidate;       // paired: equal sizes
  std::optional<SeedNoise> noise;            // nothing: no bound, so no verdict from one seed
  bool is_training = false;  // trainings and answers are two families, each with half of alpha
  bool one_value = false;    // the loss of a single step: only what no noise explains is judged
  bool is_cost = false;      // a simulated cost, no score
  // No setting and no data differ, so nothing that was asked for can have made it better.
  bool unexplained = false;
  // Nor did any training depart in its first steps, which were compared: what is left to blame is
  // rounding, or a fault that these do not show. Judged by alpha_retrained.
  bool like_rounding = false;
};
void judge_seeds(std::vector<SeedTest>& family, const GatePolicy& policy);
// What no seed noise explains: this many standard deviations of a difference of two runs.
inline constexpr double kGrossDeviations = 5;

// Simulated counts: tolerance 0.
void judge_exact(TaskVerdict& verdict, double base, double candidate, Direction direction,
                 const std::string& unit);

}  // namespace nb
