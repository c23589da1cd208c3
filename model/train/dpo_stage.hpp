// DPO: of two answers to a prompt the preferred one becomes likelier than the other, measured
// against the weights that the stage began with (arXiv:2305.18290). As trl's DPOTrainer does it:
// both answers in one batch, the reference beside the model on the device.
#pragma once

#include "model/data/chat/preference_set.hpp"
#include "model/train/chat_stage.hpp"
#include "model/train/port_defects.hpp"

namespace nb {

struct PreferenceData {
  const PreferenceSet& train;
  const PreferenceSet& validation;
  const Tokenizer& tokenizer;
};

// bad_input, beyond run_chat_stage()'s: batches that do not divide, fewer pairs than one step
// needs, an answer that is longer than the model reads.
Result<TrainResult> train_dpo(const DpoSettings& settings, Device& device,
                              const PreferenceData& data, const ParentCheckpoint& parent,
                              const std::filesystem::path& folder, const TrainHooks& hooks = {},
                              const PortDefects& defects = {},
                              const std::optional<MeshSettings>& mesh = {});

}  // namespace nb
