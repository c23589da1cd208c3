// The statistical half of the gate: verdicts from counts and seeds once a family is complete,
// because Holm needs all p values of the night. For gate.cpp and its tests; no records, no files.
#pragma once

#include <string>
#include <vector>

#include "results/gate.hpp"

namespace nb {

// Fixed checkpoint, paired items of one task.
struct ItemTest {
  TaskVerdict verdict;  // task and values filled; judged here
  std::string task;     // "mw/facts": key of margins and noise card
  PairedCounts counts;
};
void judge_items(std::vector<ItemTest>& family, const GatePolicy& policy);

// Retrained models: one metric over the seeds of each side.
struct SeedTest {
  TaskVerdict verdict;
  std::string unit;
  Direction direction = Direction::kHigher;  // never kNone
  std::vector<double> base, candidate;
};
void judge_seeds(std::vector<SeedTest>& family, const GatePolicy& policy);

// Simulated counts: tolerance 0.
void judge_exact(TaskVerdict& verdict, double base, double candidate, Direction direction,
                 const std::string& unit);

}  // namespace nb
