// What a rank has of the trained parameters. Private to the folder.
#pragma once

#include <vector>

#include "model/train/stage_task.hpp"

namespace nb {

// Its rows, or its part, where weights are cut.
inline std::vector<Parameter*> own_parameters(TrainedModel& model) {
  if (model.tensor != nullptr) return model.tensor->decoder().trained_parameters();
  if (model.sharded == nullptr) return model.decoder.trained_parameters();
  std::vector<Parameter*> own;
  for (const ParameterRows& one : model.sharded->trained())
    if (!one.rows->value.empty()) own.push_back(one.rows);
  return own;
}

}  // namespace nb
