#include "harness/suite/suite.hpp"

namespace nb {

FieldList DeviceEntry::fields() {
  FieldList list{
      {"name", "name in records and tables; default: the profile's name", &name},
      {"profile", "a profile of `npubench list devices`", &profile, {.required = true}},
      {"stack",
       "software stack in place of its own (npubench list stacks)",
       &stack,
       {.omits_absent = true}},
      {"numerics", "profile whose numerics policy replaces its own; empty: its own", &numerics},
      {"numerics_overrides", "single fields of the numerics policy: name → value",
       &numerics_overrides},
      {"stacks",
       "how the model is run to train, tune (SFT and RL), score or generate: use → eager or "
       "compiled",
       &stacks},
      {"defects",
       "mistakes of a port, made on purpose: names from `npubench list defects`",
       &defects,
       {.omits_absent = true}},
      {"mesh",
       "cards that train together; absent: one card",
       object(&mesh),
       {.omits_absent = true}},
      {"factors",
       "written by /factorial: levels in this configuration",
       &factors,
       {.omits_absent = true}},
  };
  for (Field& field : planted.fields()) list.push_back(std::move(field));
  return list;
}

FieldList TextCorpus::fields() {
  FieldList list{
      {"sources",
       "names or groups from `npubench data list`, or your own text and JSONL files and folders",
       &sources,
       {.required = true}}};
  for (Field& field : split.fields()) list.push_back(std::move(field));
  return list;
}

FieldList CorpusSource::fields() {
  return {
      {"microworld", "a generated world; nothing to download", object(&microworld)},
      {"text", "texts from the data folder or your own", object(&text)},
  };
}

FieldList BaseStage::fields() {
  FieldList list;
  for (Field& field : settings.fields())
    if (field.name != "seed") list.push_back(std::move(field));
  return list;
}

FieldList StageSettings::fields() {
  return {{"base", "pretraining from scratch on the corpus", object(&base)},
          {"mid", "conversations as a stream of tokens, from BASE's weights", object(&mid)},
          {"sft", "the assistant's answers alone, from the weights before", object(&sft)},
          {"dpo", "pairs of answers, the preferred one made likelier than the other", object(&dpo)},
          {"rl", "questions answered several times, right answers rewarded", object(&rl)}};
}

std::vector<TrainingStage> StageSettings::all() const {
  std::vector<TrainingStage> stages;
  if (base) stages.push_back(TrainingStage::kBase);
  if (mid) stages.push_back(TrainingStage::kMid);
  if (sft) stages.push_back(TrainingStage::kSft);
  if (dpo) stages.push_back(TrainingStage::kDpo);
  if (rl) stages.push_back(TrainingStage::kRl);
  return stages;
}

FieldList EvaluationSettings::fields() {
  FieldList list{{"name", "unique name, part of node names", &name, {.required = true}}};
  for (Field& field : settings.fields()) list.push_back(std::move(field));
  list.push_back({"batch_size",
                  "sequences scored together; cannot change any score",
                  &batch_size,
                  {.min = 1, .max = 4096, .hashed = false}});
  // Each is a node of its own, which says its step.
  list.push_back({"steps",
                  "steps whose checkpoints are evaluated beside the last one; 0: initial weights",
                  &steps,
                  {.unit = "step", .min = 0, .hashed = false}});
  list.push_back({"stages",
                  "stages whose checkpoints are evaluated; absent: all that are trained",
                  &stages,
                  {.hashed = false}});
  list.push_back({"crosses_devices",
                  "every checkpoint on every device, not on its own alone: what training and what "
                  "evaluation on a device make of the scores come apart",
                  &crosses_devices,
                  {.hashed = false}});
  list.push_back({"of_baseline",
                  "with `run --baseline`: its checkpoints are evaluated again beside tonight's, so "
                  "that a change of the evaluation shows where the training has changed too",
                  &of_baseline,
                  {.hashed = false}});
  return list;
}

FieldList MicrobenchmarkSettings::fields() {
  return {
      {"name", "a group of `npubench list microbenchmarks`", &name, {.required = true}},
      {"min_time_s",
       "shortest measuring time of each host-clock benchmark",
       &min_time_s,
       {.unit = "s", .min = 0.001, .max = 60}},
  };
}

FieldList Suite::fields() {
  FieldList list{
      {"name", "names the folder of results; letters, digits, _ . -", &name, {.required = true}},
      {"description", "for people", &description, {.hashed = false}},
      {"devices",
       "emulated devices: profile names or objects",
       nb::list(&devices),
       {.required = true}},
      {"seeds", "one training of each stage per device and seed", &seeds, {.min = 0}},
      {"corpus", "what the tokenizer and the model learn from", object(&corpus)},
      {"tokenizer", "BPE trained on the corpus", object(&tokenizer)},
      {"stages", "training stages", object(&stages)},
      {"evaluations", "benchmarks on every trained checkpoint", nb::list(&evaluations)},
      {"microbenchmarks", "Google Benchmark programs, run for every device",
       nb::list(&microbenchmarks)},
      {"predictions", "full-scale dry runs, on every device", nb::list(&predictions)},
      {"probes", "fixed questions with known answers, on every device (npubench list probes)",
       &probes},
      {"factorial",
       "several changes at once, so that the effect of each can be told from the others'",
       object(&factorial)},
  };
  for (Field& field : planted.fields()) list.push_back(std::move(field));
  return list;
}

}  // namespace nb
