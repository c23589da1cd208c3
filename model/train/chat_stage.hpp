// What MID, SFT and RL have in common: they go on from the weights of a checkpoint, with fresh
// optimizers, on conversations.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "model/data/chat/conversation_set.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/train/chat_settings.hpp"
#include "model/train/mesh_settings.hpp"
#include "model/train/port_defects.hpp"
#include "model/train/safetensors.hpp"
#include "model/train/trainer.hpp"

namespace nb {

// Muon's own default: chat_sft.py and chat_rl.py set none.
inline constexpr double kMuonMomentum = 0.95;

inline constexpr const char* kAdapterFile = "adapters.safetensors";

struct ParentCheckpoint {
  const SafetensorsFile& file;
  std::string weights;  // digest of its weights: part of what a resumed run must share
};

struct ChatData {
  const ConversationSet& train;
  const ConversationSet& validation;
  const Tokenizer& tokenizer;
};

// What a resumed run must share of its data, and the tokenizer.
struct DataDigests {
  std::string train, validation;
  const Tokenizer& tokenizer;
};

// The model in the checkpoint on the device and the other cards of its mesh, with fresh adapters
// where the stage trains some, and optimizers at the stage's first rates (a port's: by its rules).
// bad_input: not a model's checkpoint, one that was trained with another tokenizer, adapters of
// products that it does not have, a device whose numerics training does not support.
Result<std::unique_ptr<TrainedModel>> open_parent(const ParentCheckpoint& parent, Device& device,
                                                  const Tokenizer& tokenizer,
                                                  const StageRates& rates,
                                                  const std::optional<AdapterSettings>& lora,
                                                  const PortDefects& defects,
                                                  const std::optional<MeshSettings>& mesh);

// Each rank keeps the parent's weights as they are, its adapters merged, beside those it trains.
Result<void> add_reference(const ParentCheckpoint& parent, TrainedModel& model);

// bad_input names the first conversation (from 1) of more inputs than the model has positions: rows
// of one conversation each are not cut.
Result<void> check_lengths(const ConversationSet& set, const DecoderConfig& config,
                           std::string_view split);

// identity_of_run() with the stage, the parent (its weights and what its file says of its own
// training) and the data.
Result<Json> identity_of_stage(TrainingStage stage, Json hashed_settings, const Decoder& decoder,
                               const ParentCheckpoint& parent, const DataDigests& data);

// run_training() from the parent's weights, its adapters merged; out of simulated memory is
// run_error in the device's words. Adapters that were trained also go to
// folder/adapters.safetensors at the end. load_more: what a fresh run takes of the parent besides.
Result<TrainResult> run_chat_stage(StageTask& task, TrainedModel& model,
                                   const ParentCheckpoint& parent, const DataDigests& data,
                                   Json hashed_settings, const TrainLoop& loop,
                                   const std::filesystem::path& folder, const TrainHooks& hooks,
                                   const std::function<Result<void>()>& load_more = {});

}  // namespace nb
