// Answers to questions from a model in training, with their rewards: what reinforcement learning
// learns from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/data/chat/question_set.hpp"
#include "model/engine/generate_request.hpp"
#include "model/engine/language_model.hpp"
#include "model/train/chat_settings.hpp"

namespace nb {

struct Rollout {
  std::size_t question = 0;
  std::vector<int> ids;            // prompt and answer, without the token that ended it
  std::vector<std::uint8_t> mask;  // 1: chosen by the model; 0: prompt and the calculator's
  double reward = 0;
};

// How answers are drawn.
struct RolloutPlan {
  std::int64_t num_samples = 1;     // of each question
  std::int64_t samples_a_seed = 1;  // that one request draws; num_samples is a multiple
  std::int64_t max_new_tokens = 256;
  double temperature = 1;
  std::optional<std::int64_t> top_k;
  bool shares_first_token = false;
  std::uint64_t seed = 42;
};

// num_samples of each question, one question behind the other. The seed of a request follows from
// (step, question, number of the request) by CPython's tuple hash, as in nanochat's chat_rl.py, and
// from plan.seed. Throws OutOfMemory.
std::vector<Rollout> roll_out(LanguageModel& model, const QuestionSet& set,
                              std::span<const std::size_t> questions, std::int64_t step,
                              const RolloutPlan& plan);

}  // namespace nb
