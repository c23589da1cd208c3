// What one node of a plan does: one small struct per node kind. A stage sees nothing but its Work
// and its parents, and a node's key hashes exactly the Work (fields with hashed = false apart), so
// nothing that can change an output escapes the key. A new kind is one struct here, one line in
// node_kinds.cpp and one stage in harness/run; forgetting either does not compile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/suite/suite.hpp"

namespace nb {

// Documents for training and validation (and the microworld's evaluation items).
struct DatasetWork {
  CorpusSource corpus;
  std::map<std::string, std::string> file_digests;  // text sources: file → SHA-256
  std::uint64_t text_bytes =
      0;  // of them, for expectations; 0: generated or not there. Not a field
  FieldList fields();
};

struct TokenizerWork {
  TokenizerSettings tokenizer;
  FieldList fields();
};

// Token shards of a dataset with a tokenizer.
struct ShardsWork {
  FieldList fields();
};

// Conversations of a chat stage, mixed, as files.
struct ConversationsWork {
  std::string stage;  // "mid", "sft", …
  Mixture mixture;
  std::map<std::string, std::string> file_digests;  // what is read: name → SHA-256
  std::optional<MicroworldSettings> microworld;     // the world that they tell of, if any does
  FieldList fields();
};

// One training: of these settings the stage's own are there.
struct TrainWork {
  std::string stage;  // "base", "mid", …
  DeviceEntry device;
  std::uint64_t seed = 1;
  std::optional<TrainSettings> base;
  std::optional<MidSettings> mid;
  std::optional<SftSettings> sft;
  std::optional<DpoSettings> dpo;
  std::optional<RlSettings> rl;
  TrainingStage kind() const;
  FieldList fields();
  const std::vector<std::int64_t>& keep_steps() const;
  bool trains_adapters() const;
};

// A finished training of another run. A checkpoint of it is evaluated without making it again.
struct FinishedTraining {
  std::string stage;   // "base", "sft"
  std::string device;  // name of the entry that it ran on
  std::uint64_t seed = 1;
  std::string key, tokenizer_key;        // of its node and its tokenizer's
  std::string folder, tokenizer_folder;  // where they are; not hashed
  FieldList fields();
};

struct EvalWork {
  std::string stage;  // whose checkpoint
  DeviceEntry device;
  std::uint64_t seed = 1;
  EvaluationSettings evaluation;
  std::optional<std::int64_t> step;                 // of the checkpoint; none: the last
  std::vector<std::string> faults;                  // planted (harness/faults), those of its tasks
  std::optional<MicroworldSettings> microworld;     // the world that the corpus tells about, if any
  std::map<std::string, std::string> file_digests;  // of the user's own files (evals/evaluate.hpp)
  std::optional<FinishedTraining> finished;         // whose checkpoint; absent: that of a parent
  FieldList fields();
};

// Benchmarks outside a suite (`npubench eval`), on a model or on texts that are there already. Who
// answers is known by digests; harness/run/evaluation.hpp brings the answers.
struct AskWork {
  std::string weights;    // digest of weights or of a file of texts, or a built-in model's name
  std::string tokenizer;  // its hash; empty: no model is asked
  std::string history;    // digest of what the record will say of the weights' training
  std::optional<std::string>
      server;  // digest of who serves it and how it is asked; none: nobody does
  std::vector<std::string> faults;
  EvalSettings settings;
  std::optional<MicroworldSettings> microworld;
  std::map<std::string, std::string> file_digests;  // of the user's own files (evals/evaluate.hpp)
  FieldList fields();
};

struct MicroWork {
  DeviceEntry device;
  MicrobenchmarkSettings benchmark;
  FieldList fields();
};

struct PredictWork {
  DeviceEntry device;
  PredictSettings prediction;
  FieldList fields();
};

struct ProbeWork {
  DeviceEntry device;
  std::vector<std::string> probes;
  FieldList fields();
};

using Work = std::variant<DatasetWork, TokenizerWork, ShardsWork, ConversationsWork, TrainWork,
                          EvalWork, MicroWork, PredictWork, AskWork, ProbeWork>;

// The place of each kind in Work; names and code folders are in node_kinds.hpp.
enum class NodeKind {
  kDataset,
  kTokenizer,
  kShards,
  kConversations,
  kTrain,
  kEval,
  kMicro,
  kPredict,
  kAsk,
  kProbe
};
inline constexpr std::size_t kNodeKindCount = std::variant_size_v<Work>;

FieldList fields_of(Work& work);
// nullptr for kinds that run on no device, or on one but not for its own sake.
const DeviceEntry* device_of(const Work& work);
std::optional<std::int64_t> seed_of(const Work& work);

}  // namespace nb
