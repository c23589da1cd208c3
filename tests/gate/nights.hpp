// Simulated nights, judged by the gate's own judge_* functions: how often a healthy night is red,
// how often a planted drop is caught. For nights.cpp (the whole table) and nights_test.cpp (a short
// form).
#pragma once

#include <cstdint>
#include <vector>

namespace nb::test {

// A task of the five-task gate: items, accuracy, discordance ψ and drop of accuracy that night.
struct NightTask {
  const char* name;
  std::int64_t items;
  double accuracy;
  double flips = 0, drop = 0;
};
// HumanEval, GSM8K, ARC-C, ARC-E, MMLU with these flips and this drop.
std::vector<NightTask> five_tasks(double flips, double drop = 0);
// The same, healthy but for one task.
std::vector<NightTask> one_falls(const char* name, double flips, double task_flips, double drop);

struct NightShares {
  double red = 0, open = 0;  // open: can't tell, and nothing red
  int nights = 0;
};

// Fixed checkpoints: answers lost with probability (ψ + drop)/2 and won with (ψ − drop)/2, judged
// by judge_items with a noise profile of that discordance.
NightShares fixed_nights(const std::vector<NightTask>& tasks, double discordance, int nights);

// Fixed checkpoints whose gold margins are moved by rounding alone, so that answers flip where
// margins change sign: Laplace(0, 1) margins and normal noise that gives flips of about ψ. Judged
// by judge_items and judge_scoring together, as the gate does.
NightShares rounded_nights(double flips, int nights);

// Retrained models, `seeds` a side from one distribution: a training loss with a seed SD of .0003
// bit/byte and a second one that hangs on it, and five accuracies with a seed SD of `accuracy_sd`
// and the noise of their items. Paired seeds share the part of the noise that initialisation and
// data make (half of the variance). Judged by judge_seeds.
NightShares retrained_nights(int seeds, double accuracy_sd, bool paired, bool has_profile,
                             int nights);

// The same key computed twice, in `nights` nights; in each of `planted` of them one metric of one
// record differs in its last bit. Red: nights that the A/A control calls ERROR.
NightShares control_nights(int nights, int planted);

}  // namespace nb::test
