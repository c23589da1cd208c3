// What processes that train together (collectives/remote_ranks.hpp) hand to the leading one, which
// has a model of every rank, too: behind a step the weights that a rank trains, before a checkpoint
// its optimizers' state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/collectives/communicator.hpp"
#include "model/collectives/message.hpp"

namespace nb {

struct TrainedModel;

// Of one rank, behind its step.
struct RankReport {
  SentBytes sent;
  std::uint64_t peak_bytes = 0;  // allocated
  std::string device;            // its state, as JSON
};
void pack_rank(TrainedModel& model, const RankReport& report, MessageWriter& message);
RankReport unpack_rank(std::string_view bytes, TrainedModel& model);

void pack_state(TrainedModel& model, MessageWriter& message);
void unpack_state(std::string_view bytes, TrainedModel& model);

}  // namespace nb
