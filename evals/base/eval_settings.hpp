// What a suite may set about an evaluation. Everything here that can change a score is part of the
// node key and, where it decides what is measured, of comparability (Evaluator::comparability).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"

namespace nb {

inline constexpr std::int64_t kMaxFewShot = 1000;
inline constexpr std::int64_t kMaxTopK = 1 << 30;  // tokens; no vocabulary is larger

struct EvalSettings {
  std::vector<std::string> tasks;  // ids or set names (task_registry.hpp)
  // YAML files of own tasks (core/own_tasks.hpp). Where they lie cannot change a score; what they
  // hold is part of the key by its digests (evaluate.hpp).
  std::vector<std::string> task_files;
  std::optional<std::int64_t> num_fewshot;  // examples in place of the CORE-style tasks' own number
  std::int64_t max_per_task = -1;           // keep that many rows after the shuffle; -1: all
  std::uint64_t shuffle_seed = 1337;        // nanochat's base_eval.py
  std::uint64_t few_shot_seed = 1234;       // plus the item's position
  std::string baselines = "v1";             // v1: nanochat's published CORE; v2: DCLM's later table
  std::vector<std::string> texts;           // files of the task bpb; as task_files
  std::optional<std::int64_t>
      window;  // tokens in which bpb scores them; none: the context's length
  // Tasks that are answered by a text; nanochat's chat_eval.py.
  std::int64_t max_new_tokens = 512;
  std::int64_t num_samples = 1;
  double temperature = 0;   // 0: the most likely token
  std::int64_t top_k = 50;  // 0: all tokens; without meaning at temperature 0
  std::uint64_t sample_seed = 42;

  FieldList fields();
};

// All that decides what is generated, for comparability: "greedy, 512 tokens" or "temperature 0.6,
// top_k 50, 4 samples, seed 42, 512 tokens".
std::string generation_text(const EvalSettings& settings);

}  // namespace nb
