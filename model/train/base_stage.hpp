// BASE: pretraining from scratch on token shards, nanochat's base_train.py.
#pragma once

#include <filesystem>
#include <optional>

#include "harness/base/result.hpp"
#include "model/train/mesh_settings.hpp"
#include "model/train/port_defects.hpp"
#include "model/train/settings.hpp"
#include "model/train/trainer.hpp"

namespace nb {

class TokenLoader;

struct TrainData {
  TokenLoader& train;
  TokenLoader& validation;     // rewound before each validation
  const Tokenizer& tokenizer;  // vocabulary size, token bytes, samples
};

// As run_training(), with the defects of a port, on the cards of a mesh: `device` is the first.
// Simulated out of memory: run_error in the device's words with the largest device_batch_size that
// fits.
Result<TrainResult> train(const TrainSettings& settings, Device& device, const TrainData& data,
                          const std::filesystem::path& folder, const TrainHooks& hooks = {},
                          const PortDefects& defects = {},
                          const std::optional<MeshSettings>& mesh = {});

}  // namespace nb
