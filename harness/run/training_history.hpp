// What an evaluation's record says about the training of the weights that it evaluated
// (Record::checkpoint), so that a comparison never takes a recipe for a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/store/record.hpp"

namespace nb {

class SafetensorsFile;

// What the checkpoint says of itself, and, where the training's record is at hand, "code" and
// "parents" from that. training: nullptr where only the file is there. null: the file says nothing.
Result<Json> training_history(const SafetensorsFile& checkpoint, const Record* training);

// The checkpoint of that step among a training's artifacts, relative to its folder; no step: the
// last. Error: names the steps that are there.
Result<std::string> checkpoint_file(const Record& training, std::optional<std::int64_t> step,
                                    const std::string& where);

}  // namespace nb
