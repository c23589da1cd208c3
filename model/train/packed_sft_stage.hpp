// SFT as newer nanochat does it: settings.packed is there. sft_stage.hpp has the rest.
#pragma once

#include <filesystem>

#include "harness/base/result.hpp"
#include "model/train/chat_stage.hpp"

namespace nb {

// train_sft() on packed rows. Besides its errors: bad_input that names a conversation longer than a
// row, and a parent without the moments that keeps_optimizer asks for.
Result<TrainResult> train_packed_sft(const SftSettings& settings, Device& device,
                                     const ChatData& data, const ParentCheckpoint& parent,
                                     const std::filesystem::path& folder, const TrainHooks& hooks,
                                     const PortDefects& defects,
                                     const std::optional<MeshSettings>& mesh = {});

}  // namespace nb
