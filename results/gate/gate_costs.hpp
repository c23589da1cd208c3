// Simulated costs of reinforcement learning. A training of given batches costs the same whatever it
// learns, so its costs are judged exactly. RL trains on what the model wrote: where that is another
// number of tokens, costs differ without any fault, and their spread over seeds says by how much.
#pragma once

#include <optional>
#include <vector>

#include "results/gate/gate_judge.hpp"

namespace nb {

// For each RL node any of whose pairs wrote differently (rl_work.hpp): simulated throughput and
// peak memory over all its seeds, without noise. Its other costs (times, kernels, MFU) go with the
// tokens.
struct CostTests {
  std::vector<SeedTest> tests;
  std::vector<Sentence> notes;  // one per node
};
CostTests cost_tests(const Comparison& comparison);

// Of peak memory, which the longest answers of one step decide: what seeds say, but at least 1.5 %.
// (Three healthy nights of suites/nightly.json on one device: 40.1 to 40.6 MiB, and the five seeds
// of one of them all 40.6.) The gate calls five of these times √2 gross.
SeedNoise noise_of_peak(const std::optional<SeedNoise>& of_seeds, const std::vector<double>& base);

}  // namespace nb
