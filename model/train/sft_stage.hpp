// SFT: one conversation a row, the assistant's tokens alone count; nanochat's chat_sft.py
// (3a5e0bc), which trains and validates the uncompiled model. With `packed` in its settings as that
// file is since 2026-01: packed_sft_stage.hpp; there the model is compiled.
#pragma once

#include "model/train/chat_stage.hpp"

namespace nb {

// bad_input, beyond run_chat_stage()'s: batches that do not divide, fewer conversations than two
// steps need (the last step of nanochat's count trains nothing), a conversation that is longer than
// the model reads.
Result<TrainResult> train_sft(const SftSettings& settings, Device& device, const ChatData& data,
                              const ParentCheckpoint& parent, const std::filesystem::path& folder,
                              const TrainHooks& hooks = {}, const PortDefects& defects = {},
                              const std::optional<MeshSettings>& mesh = {});

}  // namespace nb
