// How many cards train together, and what each of them holds (data_ranks.hpp trains).
#pragma once

#include <cstdint>
#include <optional>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/device/profile.hpp"

namespace nb {

// How a device entry of a suite lays out its cards.
struct MeshSettings {
  std::int64_t dp = 1;  // data-parallel ranks
  // 1: each holds a part of the optimizers' state and updates a part of the weights (ZeRO-1, as
  // nanochat's DistAdamW and DistMuon); absent: all hold and update everything.
  std::optional<std::int64_t> zero = {};
  FieldList fields();
};

enum class Shared : std::uint8_t { kMicroBatches, kQuestions };  // what the ranks share of a step

// bad_input with the numbers: the parts of a step do not go evenly over the ranks, or a node of
// this machine has fewer cards.
Result<void> check_ranks(const std::optional<MeshSettings>& mesh, std::int64_t parts,
                         const DeviceProfile& profile, Shared shared = Shared::kMicroBatches);

}  // namespace nb
