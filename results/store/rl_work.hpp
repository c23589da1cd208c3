// How much a training with reinforcement learning had to do. It trains on what the model wrote, so
// two healthy trainings of one recipe differ in tokens, and with them in every simulated cost.
#pragma once

#include "results/store/record.hpp"

namespace nb {

bool is_rl(const Record& record);  // a training of that stage that ended well

// Both train with RL of the same recipe (steps, samples, limits), and their models wrote different
// numbers of tokens. Under another recipe a cost differs by what was asked.
bool wrote_otherwise(const Record& a, const Record& b);

}  // namespace nb
