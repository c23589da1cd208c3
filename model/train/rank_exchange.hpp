// What processes that train together (collectives/remote_ranks.hpp) hand to the leading one, which
// has a model of every rank, too: behind a step the weights that a rank trains, before a checkpoint
// its optimizers' state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/collectives/communicator.hpp"

namespace nb {

struct TrainedModel;

// Of one rank, behind its step.
struct RankReport {
  SentBytes sent;
  std::uint64_t peak_bytes = 0;  // allocated
  std::string device;            // its state, as JSON
};
std::string pack_rank(TrainedModel& model, const RankReport& report);
RankReport unpack_rank(std::string_view bytes, TrainedModel& model);

std::string pack_state(TrainedModel& model);
void unpack_state(std::string_view bytes, TrainedModel& model);

}  // namespace nb
