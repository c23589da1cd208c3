// A model as the command line names it, ready to be asked: a run, a checkpoint, or a built-in
// model. One place, so that every verb understands the same names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/data/microworld.hpp"
#include "model/engine/language_model.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "results/store/json_box.hpp"

namespace nb {

class Decoder;

struct ModelChoice {
  // oracle, chance, corrupted; a node's folder of a training; a run's folder that holds one
  // training; a checkpoint (.safetensors), or a folder with one as model.safetensors; a Hugging
  // Face folder of GPT-2 or Llama; or a model in llama2.c's form.
  std::string model;
  std::optional<std::int64_t>
      step;                // of a training's folder: which of its checkpoints; none: the last
  std::string device;      // profile; empty: the one that trained it
  std::string tokenizer;   // file; empty: the run's, or tokenizer.json (llama2.c: .bin) beside it
  std::int64_t batch = 8;  // sequences at a time; changes no result
  // false: every request is computed whole and alone, to compare with; changes no result
  bool shares_prefixes = true;
};

struct OpenedModel {
  std::string label;    // for names of folders and tables: "oracle", "train-base-ascend_910b3-s1"
  std::string name;     // the same free of device and seed: "oracle", "base"
  std::string weights;  // digest of the weights, or the built-in model's name
  std::string device;   // name of the device entry it runs on; empty: none
  std::string trained_on;                        // profile; empty: the model does not say
  std::optional<std::int64_t> seed;              // of the training
  JsonBox checkpoint = JsonBox::null();          // Record::checkpoint
  std::vector<std::string> parents;              // node keys of the training and its tokenizer
  std::optional<ResolvedDevice> resolved;        // of `device`
  std::optional<MicroworldSettings> microworld;  // the world that it was trained on
  std::shared_ptr<void> parts;                   // what the two below stand on
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;
  Decoder* decoder = nullptr;  // of the model, owned by parts; none: a built-in one
};

// The generated world that a training's folder, or a run's with one training, was made on; nothing:
// on none.
Result<std::optional<MicroworldSettings>> world_of(const std::filesystem::path& run);

// Errors say what is there to choose from.
Result<OpenedModel> open_model(const ModelChoice& choice);

}  // namespace nb
