#include "harness/plan/work.hpp"

namespace nb {
namespace {

Field device_field(DeviceEntry* device) { return {"device", "emulated device", object(device)}; }
Field own_files_field(std::map<std::string, std::string>* digests) {
  return {"own_files", "task and digest of what it reads", digests, {.omits_absent = true}};
}
Field seed_field(std::uint64_t* seed) { return {"seed", "seed of the training", seed}; }

}  // namespace

FieldList DatasetWork::fields() {
  return {{"corpus", "where documents come from", object(&corpus)},
          {"file_digests", "text files and their SHA-256", &file_digests}};
}

FieldList TokenizerWork::fields() {
  return {{"tokenizer", "BPE trained on the corpus", object(&tokenizer)}};
}

FieldList ShardsWork::fields() { return {}; }

FieldList TrainWork::fields() {
  return {{"stage", "training stage", &stage},
          device_field(&device),
          seed_field(&seed),
          {"train", "how to pretrain", object(&base)},
          {"mid", "how to train MID", object(&mid), {.omits_absent = true}},
          {"sft", "how to train SFT", object(&sft), {.omits_absent = true}},
          {"dpo", "how to train DPO", object(&dpo), {.omits_absent = true}},
          {"rl", "how to train RL", object(&rl), {.omits_absent = true}}};
}

TrainingStage TrainWork::kind() const {
  return mid   ? TrainingStage::kMid
         : sft ? TrainingStage::kSft
         : dpo ? TrainingStage::kDpo
         : rl  ? TrainingStage::kRl
               : TrainingStage::kBase;
}

const std::vector<std::int64_t>& TrainWork::keep_steps() const {
  if (mid) return mid->checkpoints.keep_steps;
  if (sft) return sft->checkpoints.keep_steps;
  if (dpo) return dpo->checkpoints.keep_steps;
  if (rl) return rl->checkpoints.keep_steps;
  return base->keep_steps;
}

bool TrainWork::trains_adapters() const {
  return (mid && mid->lora) || (sft && sft->lora) || (dpo && dpo->lora) || (rl && rl->lora);
}

FieldList ConversationsWork::fields() {
  return {{"stage", "that learns from them", &stage},
          {"mixture", "which ones", object(&mixture)},
          {"file_digests", "files and their SHA-256", &file_digests},
          {"microworld", "world that they tell of", object(&microworld)}};
}

FieldList FinishedTraining::fields() {
  return {{"stage", "which", &stage},
          {"device", "that it ran on", &device},
          seed_field(&seed),
          {"key", "of its node", &key},
          {"tokenizer_key", "of its tokenizer's node", &tokenizer_key},
          {"folder", "where it is", &folder, {.hashed = false}},
          {"tokenizer_folder", "where its tokenizer is", &tokenizer_folder, {.hashed = false}}};
}

FieldList EvalWork::fields() {
  return {{"stage", "whose checkpoint", &stage},
          device_field(&device),
          seed_field(&seed),
          {"evaluation", "what to evaluate", object(&evaluation)},
          {"step", "of the checkpoint; absent: the last", &step},
          {"faults", "planted faults", &faults},
          {"microworld", "world that the generated items ask about", object(&microworld)},
          own_files_field(&file_digests),
          {"finished", "training of another run", object(&finished), {.omits_absent = true}}};
}

FieldList AskWork::fields() {
  return {{"weights", "whose answers", &weights},
          {"tokenizer", "of the model", &tokenizer},
          {"history", "of the weights", &history},
          {"server", "that answers, and by which methods", &server, {.omits_absent = true}},
          {"faults", "planted faults", &faults},
          {"evaluation", "what is asked", object(&settings)},
          {"microworld", "world that the generated items ask about", object(&microworld)},
          own_files_field(&file_digests)};
}

FieldList MicroWork::fields() {
  return {device_field(&device), {"benchmark", "which group", object(&benchmark)}};
}

FieldList PredictWork::fields() {
  return {device_field(&device), {"prediction", "what to predict", object(&prediction)}};
}

FieldList ProbeWork::fields() { return {device_field(&device), {"probes", "which", &probes}}; }

FieldList fields_of(Work& work) {
  return std::visit([](auto& w) { return w.fields(); }, work);
}

const DeviceEntry* device_of(const Work& work) {
  return std::visit(
      [](const auto& w) -> const DeviceEntry* {
        if constexpr (requires { w.device; })
          return &w.device;
        else
          return nullptr;
      },
      work);
}

std::optional<std::int64_t> seed_of(const Work& work) {
  return std::visit(
      [](const auto& w) -> std::optional<std::int64_t> {
        if constexpr (requires { w.seed; })
          return static_cast<std::int64_t>(w.seed);
        else
          return std::nullopt;
      },
      work);
}

}  // namespace nb
