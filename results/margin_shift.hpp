// Did log-probabilities move as rounding moves them? Three tests on the gold margins of one
// checkpoint that was scored twice (bias, flip excess, hard flips), and how far the choices' two
// distributions lie apart. Numbers only; gate_scoring.cpp judges them, compare shows them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "results/stats.hpp"

namespace nb {

// Gold margin of a choice item: log-probability of the right choice minus the best other one's, in
// nats and in the task's own normalisation. Items with one log-probability have that as margin and
// flip for other reasons than its sign.
struct MarginPair {
  double a = 0, b = 0;
};
// An item whose marks differ.
struct FlippedMargin {
  MarginPair margin;
  bool is_answer = false;  // right on one side, wrong on the other; else another mark alone
  std::string item;        // its id
};
// Small for each item, since there may be hundreds of thousands.
struct Margins {
  std::vector<MarginPair> pairs;       // of all items
  std::vector<FlippedMargin> flipped;  // of them
};

inline constexpr double kBiasFloor = 0.005;     // nat: a smaller mean change is of no importance
inline constexpr double kRoundingLimit = 0.05;  // nat: below it a margin is a tie under rounding

struct MarginShift {
  MeanTest bias;       // of δ = margin B − margin A; its difference is in nats
  double typical = 0;  // median |δ|, nat
  double scale = 0;    // s = 1.4826 · median |δ − median δ|: the SD of normal noise, nat
  std::int64_t flips = 0;
  double expected_flips = 0;            // Σ Φ(−|margin A|/s)
  double p_excess = 1;                  // P(Poisson(expected) >= flips)
  double hard_limit = 0;                // τ = max(kRoundingLimit, 4 s)
  std::vector<std::string> hard_flips;  // items that flipped with a margin above τ on a side
};
// At least 2 margins. flips: of the answers, which is more than margins that change sign where some
// items have none; has_choices: margins are differences between choices, so that their sign is the
// answer, else only bias and typical are meant.
MarginShift margin_shift(const Margins& margins, std::int64_t flips, bool has_choices);

// The choices of one item as a distribution: softmax of their log-probabilities, and KL(A‖B), nat.
// Equal sizes, at least 2, finite.
double choice_divergence(std::span<const float> a, std::span<const float> b);

struct ChoiceAgreement {
  std::int64_t items = 0;
  std::int64_t same_top = 0;  // the same choice is the most probable one, the first of equals
  double mean_divergence = 0, p999_divergence = 0;  // nat
  double divergence_error = 0;                      // standard error of the mean
};
// `divergences` in any order; empty: all zero.
ChoiceAgreement choice_agreement(std::vector<double> divergences, std::int64_t same_top);

}  // namespace nb
