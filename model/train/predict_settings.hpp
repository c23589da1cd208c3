// What a prediction is asked: depth, cards, batch and stage, with their arithmetic. Knows no
// machine. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/config.hpp"
#include "model/train/step_row.hpp"

namespace nb {

struct PredictSettings {
  std::int64_t depth = 20;
  std::optional<std::string> model = {};  // of decoder_presets(); absent: nanochat
  std::optional<bool> recompute = {};
  std::int64_t vocab_size = 65536;
  std::int64_t sequence_len = 2048;
  std::int64_t cards = 8;                              // on all nodes together
  std::optional<std::int64_t> nodes = {};              // absent: as few as hold the cards
  std::optional<std::int64_t> device_batch_size = {};  // absent: the largest that fits and divides
  std::int64_t total_batch_tokens = 524288;            // BASE, MID
  TrainingStage stage = TrainingStage::kBase;          // not DPO
  std::optional<std::int64_t> steps = {};              // of the whole stage: its hours and tokens
  std::optional<std::int64_t> examples_per_step = {};  // SFT, RL: over all cards
  // What is assumed of the data: every row, prompt and answer has this length.
  std::optional<std::int64_t> row_tokens = {};                         // SFT: with its padding
  std::optional<std::int64_t> prompt_tokens = {}, answer_tokens = {};  // RL
  // RL: in place of answer_tokens, lengths that are equally frequent (DryRollout::answer_tokens).
  std::vector<std::int64_t> answer_lengths = {};
  std::optional<std::int64_t> num_samples = {};  // RL: of each example

  // Trained on, padding included; of RL with so many rows a pass.
  std::int64_t tokens_per_step(std::int64_t rows_a_pass) const;
  std::vector<std::int64_t> answers() const;  // RL: answer_lengths, else answer_tokens alone
  FieldList fields();
};

Result<void> check_prediction(const PredictSettings& settings);  // what needs no profile
Result<DecoderConfig> config_of(const PredictSettings& settings);

bool counts_examples(TrainingStage stage);                    // SFT and RL
std::int64_t row_tokens_of(const PredictSettings& settings);  // that a row is trained on
// Rows of one card in a step. SFT: examples; RL: samples of its examples.
Result<std::int64_t> rows_of_step(const PredictSettings& settings);
// Of them, those that must fill whole micro-batches: RL's passes have samples of one example.
std::int64_t divided_rows(const PredictSettings& settings, std::int64_t rows);

}  // namespace nb
