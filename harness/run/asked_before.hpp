// What an evaluation's record says that was asked: the settings and the generated world, so that
// its items can be made again.
#pragma once

#include <optional>

#include "evals/base/eval_settings.hpp"
#include "harness/base/result.hpp"
#include "model/data/microworld.hpp"
#include "results/store/store.hpp"

namespace nb {

struct AskedBefore {
  EvalSettings settings;
  std::optional<MicroworldSettings> microworld;
};

// Of a suite's node or of `npubench eval`. Errors name the record and the field.
Result<AskedBefore> asked_before(const StoredRecord& stored);

}  // namespace nb
