// A suite: what one JSON file asks to run, as plain values. Every member describes itself once
// (fields()), and that drives parsing, printing, hashing and `npubench plan --help`. Not for: how
// it runs (harness/plan, harness/run). Thread-compatible: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evals/base/eval_settings.hpp"
#include "harness/base/fields.hpp"
#include "harness/faults/fault_settings.hpp"
#include "harness/suite/factorial.hpp"
#include "harness/suite/mixture.hpp"
#include "model/data/corpus.hpp"
#include "model/data/microworld.hpp"
#include "model/tokenizer/train_tokenizer.hpp"
#include "model/train/chat_settings.hpp"
#include "model/train/mesh_settings.hpp"
#include "model/train/predict.hpp"
#include "model/train/settings.hpp"
#include "model/train/step_row.hpp"

namespace nb {

// One emulated device of a suite. In the file either a profile's name ("ascend_910b3") or an
// object.
struct DeviceEntry {
  std::string name;     // how records and tables call it; default: the profile's name
  std::string profile;  // a profile of `npubench list devices`
  // The software stack on it (model/device/stacks), with its numerics; absent: the profile's own.
  std::optional<std::string> stack = {};
  std::string numerics;  // profile whose numerics policy replaces the own one; empty: own
  std::map<std::string, std::string> numerics_overrides;  // field of the policy → value, on top
  // train, tune (SFT and RL), score, generate → eager, compiled: how the model is run in that use,
  // with its rounding (eager rounds at every pointwise kernel, compiled once a chain). Before
  // numerics_overrides.
  std::map<std::string, std::string> stacks;
  std::vector<std::string> defects;  // what a port gets wrong: `npubench list defects`
  std::optional<MeshSettings> mesh;  // cards that train together; absent: one
  FaultSettings planted;             // in ranks that train together; same level in the file
  std::vector<std::string>
      factors;  // in a configuration of a factorial: "depth=low", …; not for files
  FieldList fields();
};

// Texts of the data folder or of one's own.
struct TextCorpus {
  // Names or groups of `npubench data list` ("text/english_novels"), or own files and folders.
  std::vector<std::string> sources;
  CorpusSettings split;  // same level in the file: how texts are cut, shuffled and split
  FieldList fields();
};

// Exactly one of the two.
struct CorpusSource {
  std::optional<MicroworldSettings> microworld;
  std::optional<TextCorpus> text;
  FieldList fields();
};

// TrainSettings without the seed, which /seeds gives.
struct BaseStage {
  TrainSettings settings;
  FieldList fields();
};

// A stage on conversations: which ones, and how to train; same level in the file.
template <class Settings>
struct ChatStage {
  Mixture conversations;
  Settings settings;
  FieldList fields() {
    FieldList list = conversations.fields();
    for (Field& field : settings.fields())
      if (field.name != "seed") list.push_back(std::move(field));  // which /seeds gives
    return list;
  }
};

// Training stages in the order in which they run; each starts from the one before it that there
// is.
struct StageSettings {
  std::optional<BaseStage> base;
  std::optional<ChatStage<MidSettings>> mid;
  std::optional<ChatStage<SftSettings>> sft;
  std::optional<ChatStage<DpoSettings>> dpo;
  std::optional<ChatStage<RlSettings>> rl;
  std::vector<TrainingStage> all() const;  // those that there are
  FieldList fields();
};

struct EvaluationSettings {
  std::string name;                 // "core"; unique in the suite
  EvalSettings settings;            // tasks, few-shot seed, …: same level in the file
  std::int64_t batch_size = 8;      // sequences at a time; cannot change any output, so not hashed
  std::vector<std::int64_t> steps;  // whose checkpoints are evaluated beside the last one
  std::vector<std::string> stages;  // whose checkpoints are evaluated; empty: all that are trained
  bool crosses_devices = false;     // each of them on every device of the suite, not its own alone
  bool of_baseline = false;         // also those of the run that `run --baseline` names
  FieldList fields();
};

struct MicrobenchmarkSettings {
  std::string name;          // a group of `npubench list microbenchmarks`
  double min_time_s = 0.02;  // of each host-clock benchmark
  FieldList fields();
};

struct Suite {
  std::string name;
  std::string description;
  std::vector<DeviceEntry> devices;
  std::vector<std::uint64_t> seeds = {1};
  std::optional<CorpusSource> corpus;
  TokenizerSettings tokenizer;
  StageSettings stages;
  std::vector<EvaluationSettings> evaluations;
  std::vector<MicrobenchmarkSettings> microbenchmarks;
  std::vector<PredictSettings> predictions;  // dry runs at full scale
  std::vector<std::string> probes;           // of evals/probes, on every device
  FaultSettings planted;                     // on every device with a mesh; same level in the file
  std::optional<FactorialDesign> factorial;
  std::vector<Suite>
      configurations;  // what a factorial runs in place of the suite itself; not a field
  FieldList fields();
};

}  // namespace nb
