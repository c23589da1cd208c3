// Main effects of an experiment on several changes at once: its configurations are trainings of one
// run whose records say which factors are high. What each change alone makes of a metric, and which
// share of the difference between the configuration with all changes and the configuration with
// none. Reads records; the design is read off the configurations themselves. Pure but for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/messages/message.hpp"
#include "results/stats/stats.hpp"
#include "results/store/record.hpp"
#include "results/store/store.hpp"

namespace nb {

struct EffectEstimate {
  double value = 0;                    // high − low
  std::optional<Interval> interval95;  // none: one seed
  std::optional<double> share;         // of the gap; none: the gap is 0
  std::optional<Interval> share95;     // Fieller; none: the gap is not apart from 0
};

// One metric of all configurations. The effects and `rest` add up to the gap, their shares to 1.
struct EffectTable {
  double low = 0, high = 0;  // mean of the configuration with all factors low; high
  EffectEstimate gap;        // high − low
  std::vector<EffectEstimate> effects;
  EffectEstimate rest;  // what the effects leave: interactions of an odd number of factors, noise
  double sd = 0;        // of one training, from what configurations and seeds leave
  double df = 0;        // (configurations − 1)(seeds − 1); 0: one seed, no intervals
};

// levels[configuration][factor]: high? values[configuration][seed], equal seeds at equal places, at
// least one. The configurations are balanced (is_balanced), the first has all factors low, the last
// all high. An effect is the mean of the configurations where the factor is high minus the mean of
// the others. A value is the configuration's plus the seed's plus noise, so that seeds, which all
// configurations share, drop out of every difference.
EffectTable main_effects(const std::vector<std::vector<bool>>& levels,
                         const std::vector<std::vector<double>>& values);

// What a fraction of all combinations cannot tell apart; factors are A to H, J to M in their order.
struct AliasStructure {
  // Letters whose product is the same in all configurations: "ABCE", shortest first. None: all
  // combinations.
  std::vector<std::string> words;
  std::size_t resolution = 0;  // length of the shortest; 0: none
  // Interactions of two that are one and the same column: {"AB", "CE", "FG"}.
  std::vector<std::vector<std::string>> pairs;
  // Interactions, of as few factors as there are, that a factor's effect contains: {"BCE", …}.
  std::vector<std::vector<std::string>> of_factor;
};
AliasStructure alias_structure(const std::vector<std::vector<bool>>& levels);
// Every factor is high in half of the configurations, and so is every product of two: then effects
// are told apart. The first configuration has all low, the last all high.
bool is_balanced(const std::vector<std::vector<bool>>& levels);

struct MetricEffects {
  std::string node;  // "base", "sft.chat"
  std::string metric, unit;
  Direction direction = Direction::kNone;
  std::vector<std::int64_t> seeds;  // that every configuration has
  EffectTable table;
};

struct Factorial {
  std::vector<std::string> factors;
  std::vector<std::string>
      configurations;  // devices; the first has all factors low, the last all high
  std::vector<std::vector<bool>> levels;
  AliasStructure aliases;
  std::vector<MetricEffects> metrics;
  std::vector<Sentence> notes;  // one sentence each: what is left out and why
  std::vector<std::string> damaged;
};

// bad_input: no record is a configuration's, or the configurations that are there are not balanced
// (an unfinished run).
Result<Factorial> factorial_of(const RunRecords& run);
bool is_arm(const Record& record);
// Of a configuration that is neither the first nor the last: some factors are high.
bool is_inner_arm(const Record& record);

// For people. Shares as they are printed add up to 100 %.
struct EffectRow {
  Sentence name;
  std::string effect, interval, share, share_interval;  // "—" where there is none
};
// Of each factor, of interactions and noise, of the gap.
std::vector<EffectRow> effect_rows(const Factorial& factorial, const MetricEffects& metric);
Sentence effects_caption(const Factorial& factorial, const MetricEffects& metric);
Sentence alias_sentence(const Factorial& factorial);     // the design and what it cannot tell apart
Sentence effects_method();                               // how the intervals are made
std::string factorial_text(const Factorial& factorial);  // terminal, 80 columns
Json factorial_json(const Factorial& factorial);

}  // namespace nb
