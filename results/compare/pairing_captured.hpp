// Captured runs (harness/capture) beside emulated ones, or beside captured ones of another name:
// what is the same thing there although names, seeds and devices differ. Part of pair_records()
// with kDevices; for pairing.cpp and compare.cpp only.
#pragma once

#include "results/compare/pairing.hpp"

namespace nb {

// Of what is left:
// - evaluations of the same weights with a task in common;
// - evaluations and trainings of one stage (store.hpp), evaluations with a task in common. Seeds do
//   not count: PyTorch's numbers are not ours. Several seeds of a node are a group
//   (UnmatchedSeeds).
// Of repeated evaluations the last counts. Where several answer, none is taken.
void pair_captured(Pairing& pairing);
// Of what is left after it: which have several possible partners, a sentence each.
std::vector<Sentence> undecided_captures(const Pairing& pairing);

}  // namespace nb
