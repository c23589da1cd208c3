// A training run on disk: weights under nanochat's names, adapters as adapter_file.hpp has them,
// optimizer state, and everything
// that later numbers depend on (loader, simulated clock and allocator, rows, samples) in one
// safetensors file, whole or not at all. Initial weights are functions of the seed, so there is no
// generator state beyond the seed in `identity`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/decoder.hpp"
#include "model/optim/optimizer.hpp"
#include "model/train/pipeline.hpp"
#include "model/train/safetensors.hpp"
#include "model/train/trainer.hpp"

namespace nb {

struct RunProgress {
  TrainingStage stage = TrainingStage::kBase;
  std::int64_t step = 0;  // next update
  bool is_finished = false;
  double loss_average = 0;  // exponential mean, not debiased
  std::int64_t train_time_ns = 0;
  std::optional<std::int64_t> apart_since;   // first step, from 1, after which replicas differed
  std::map<std::string, double> sent_bytes;  // by the first of several cards, by kind of collective
  PipelineFacts pipeline;                    // empty: of none
  std::vector<StepRow> rows;
  std::vector<SampleText> samples;
};

using Optimizers = std::span<const std::unique_ptr<Optimizer>>;

// identity: what a resumed run must share (settings, profile, data …). Same state, same bytes.
Result<void> save_checkpoint(const std::filesystem::path& path, const Decoder& decoder,
                             Optimizers optimizers, const RunProgress& progress, const Json& loader,
                             const Json& identity);

// Into a Decoder and optimizers made for the same run; restores the device's clock and memory too.
struct LoadedRun {
  RunProgress progress;
  std::unique_ptr<Json> loader;
};
Result<LoadedRun> load_checkpoint(const SafetensorsFile& file, Decoder& decoder,
                                  Optimizers optimizers, TrainingStage stage);

// For a stage that goes on with the moments of the one before: how many updates made them, and they
// themselves, into optimizers of the same parameters. bad_input: the file has none.
Result<std::int64_t> trained_steps(const SafetensorsFile& file);
Result<void> load_optimizers(const SafetensorsFile& file, Optimizers optimizers);

// Whether the file is a checkpoint of this run and may be gone on from: every byte is under its
// digest, it has that identity, and it holds the step that its name says. Else bad_input, a
// sentence that names the file and says why not, for the caller to say what is done instead.
Result<SafetensorsFile> open_checkpoint_of(const Json& identity, const std::filesystem::path& path);

// bad_input that names the first entry in which the file's identity differs from `identity`.
Result<void> check_identity(const SafetensorsFile& file, const Json& identity);

// For evaluation: sizes of the model in a file, and its weights alone, rounded to the device's
// dtypes. Any safetensors file with nanochat's names and a "model_config" will do; tensors that are
// missing or that the model has no use for are bad_input. Opening one reads all of it: who needs
// more than one thing of it opens it once.
Result<DecoderConfig> read_model_config(const SafetensorsFile& file);
// Tokenizer::hash() of the one that it was trained with; empty: the file does not say.
Result<std::string> trained_tokenizer(const SafetensorsFile& file);
Result<void> load_weights(const SafetensorsFile& file, Decoder& decoder);
// What the file says of the training that made it: "settings", "model", "seed", "steps" (seen by
// these weights), "data" (digest of its token shards), "tokenizer", "device", "numerics_of" and
// "numerics" (the policy, entry by entry); null for what it leaves out. Of a stage after BASE also
// "stage" and "before", the same of the weights that it began with. null altogether: a file
// that was not written by save_checkpoint.
Result<Json> checkpoint_history(const SafetensorsFile& file);

struct NumberedCheckpoint {
  std::int64_t step = 0;  // as its name says
  std::filesystem::path path;
};
// Folder/checkpoints: step_000123.safetensors, newest first.
std::vector<NumberedCheckpoint> list_checkpoints(const std::filesystem::path& folder);
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, std::int64_t step);
// Temporaries of a process that was killed while it wrote. One run per folder: nobody else writes
// there.
void remove_torn_checkpoints(const std::filesystem::path& folder);
// Removes all but those of `kept_steps` and the newest `keep` up to `step`, where the run is: later
// ones could not be used when it was resumed.
void prune_checkpoints(const std::filesystem::path& folder, std::int64_t step, std::size_t keep,
                       std::span<const std::int64_t> kept_steps = {});

}  // namespace nb
