// RL: questions are answered several times by the model in training, right answers are rewarded;
// nanochat's chat_rl.py (3a5e0bc), and GRPO's clipped objective with several updates a rollout.
#pragma once

#include "model/data/chat/question_set.hpp"
#include "model/train/chat_stage.hpp"

namespace nb {

struct RlData {
  const QuestionSet& train;
  const QuestionSet& validation;
  const Tokenizer& tokenizer;
};

// bad_input, beyond run_chat_stage()'s: settings that passes_per_example() refuses, fewer questions
// than one step asks, a prompt that fills all positions. Notes tell of steps that can teach
// nothing: all rewards of every group equal, a ratio that does not move, a reference that nothing
// reads.
Result<TrainResult> train_rl(const RlSettings& settings, Device& device, const RlData& data,
                             const ParentCheckpoint& parent, const std::filesystem::path& folder,
                             const TrainHooks& hooks = {}, const PortDefects& defects = {},
                             const std::optional<MeshSettings>& mesh = {});

}  // namespace nb
