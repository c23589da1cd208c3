// Which records of two runs, or of two devices of one run, stand side by side. The only place that
// decides it: gate, compare and report all read a Comparison that was paired here. Plain functions
// on records; the runs outlive the result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/messages/message.hpp"
#include "results/store/store.hpp"

namespace nb {

struct PairedRecords {
  const StoredRecord* a = nullptr;
  const StoredRecord* b = nullptr;
  Sentence note;  // how they were paired where their names or devices differ; empty: by identity
};

// The same node with seeds that no other side has: compared as two independent groups.
struct UnmatchedSeeds {
  std::vector<const StoredRecord*> a, b;
};

struct Pairing {
  std::vector<PairedRecords> pairs;  // in A's order
  std::vector<UnmatchedSeeds> unmatched;
  std::vector<const StoredRecord*> only_a, only_b;
  // Records of A under the name that B gives them; `pairs` points here too.
  std::vector<std::shared_ptr<const StoredRecord>> renamed;
};

enum class PairAcross { kNothing, kDevices };

// Same kind, name, trained_on, device and seed. Of what is left:
// - B's "accepted.<name>" with A's <name> of the same weights: the baseline's checkpoint once more;
// - the only evaluation of each side, when both have the same tasks, device and seed, whatever the
//   names; with kDevices also when each was evaluated on its own device; where one is imported,
//   when they have any metric in common;
// - where one is imported, the only evaluation of a stage on each side with any metric in common;
//   likewise the only training of it;
// - nodes of which no seed occurs on both sides become UnmatchedSeeds.
Pairing pair_records(const RunRecords& a, const RunRecords& b, PairAcross across);
// Same kind, name and seed on two devices of one run. Evaluations pair where both sides evaluated
// the same weights, and where each side evaluated its own. An error names the devices there are.
Result<Pairing> pair_devices(const RunRecords& run, const std::string& device_a,
                             const std::string& device_b);

}  // namespace nb
