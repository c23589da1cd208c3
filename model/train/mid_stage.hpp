// MID: one pass over conversations as a stream of tokens, all of them trained on; nanochat's
// mid_train.py (3a5e0bc).
#pragma once

#include "model/train/chat_stage.hpp"

namespace nb {

// bad_input, beyond run_chat_stage()'s: batches that do not divide, fewer tokens than one batch.
Result<TrainResult> train_mid(const MidSettings& settings, Device& device, const ChatData& data,
                              const ParentCheckpoint& parent, const std::filesystem::path& folder,
                              const TrainHooks& hooks = {}, const PortDefects& defects = {},
                              const std::optional<MeshSettings>& mesh = {});

}  // namespace nb
