// Did log-probabilities move as rounding moves them? Three tests on the gold margins of one
// checkpoint that was scored twice (bias, flip excess, hard flips), and how far the choices' two
// distributions lie apart. Numbers only; gate_scoring.cpp judges them, compare shows them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/base/spool.hpp"
#include "results/stats/stats.hpp"

namespace nb {

// Gold margin of a choice item: log-probability of the right choice minus the best other one's, in
// nats and in the task's own normalisation. Items with one log-probability have that as margin and
// flip for other reasons than its sign.
struct MarginPair {
  double a = 0, b = 0;
};
// Of all items that have one. What is kept in memory does not grow with the items (spool.hpp).
class Margins {
 public:
  void add(MarginPair margin) { pairs_.push_back(margin); }
  // The answer of this item, added before or after, is right on one side and wrong on the other.
  void add_flip(MarginPair margin, const std::string& item);
  void append(const Margins& more);  // noise and step: the larger
  // By how much one log-probability moves between a server's answers to one request, in nats; 0:
  // not at all, or nobody measured it.
  void set_noise(double noise) { noise_ = noise; }
  double noise() const { return noise_; }
  // By how much the last bit of a logit moves it, in nats: 2^-4 for logits of 8 to 16 in bf16; 0:
  // logits are finer than 16 bits, or nobody knows.
  void set_logit_step(double step) { logit_step_ = step; }
  double logit_step() const { return logit_step_; }

  const Spool<MarginPair>& pairs() const { return pairs_; }
  std::size_t size() const { return pairs_.size(); }
  const Spool<MarginPair>& flips() const { return flips_; }
  struct NamedFlip {
    double size = 0;  // the larger of the two margins' absolute values
    std::string item;
  };
  // The flips of the largest margins, largest first, at most kNamedFlips.
  const std::vector<NamedFlip>& largest() const { return largest_; }

 private:
  void name_flip(NamedFlip flip);

  Spool<MarginPair> pairs_, flips_;
  std::vector<NamedFlip> largest_;
  double noise_ = 0, logit_step_ = 0;
};
inline constexpr std::size_t kNamedFlips = 20;

inline constexpr double kBiasFloor = 0.005;     // nat: a smaller mean change is of no importance
inline constexpr double kRoundingLimit = 0.05;  // nat: below it a margin is a tie under rounding

struct MarginShift {
  MeanTest bias;       // of δ = margin B − margin A; its difference is in nats
  double typical = 0;  // median |δ|, nat
  double scale = 0;    // s = 1.4826 · median |δ − median δ|: the SD of normal noise, nat
  std::int64_t flips = 0;
  // Σ Φ(−|margin A|/s). Where s is no more than the last bit of a logit, or 0, moves are not
  // normal: then half of the share of moves, none above τ, that reach from margin A to zero,
  // summed.
  double expected_flips = 0;
  double p_excess = 1;             // P(Poisson(expected) >= flips)
  double bias_floor = kBiasFloor;  // max(kBiasFloor, the noise of a log-probability)
  // max(kRoundingLimit, twice that noise, twice the last bit of a logit: a margin is a difference)
  double rounding_limit = kRoundingLimit;
  double hard_limit = 0;             // τ = max(rounding_limit, 4 s)
  std::int64_t hard_flips = 0;       // answers that flipped with a margin above τ on a side
  std::vector<std::string> hardest;  // their items, largest margin first, at most kNamedFlips
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
ChoiceAgreement choice_agreement(const Spool<double>& divergences, std::int64_t same_top);

}  // namespace nb
