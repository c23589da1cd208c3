#include "harness/run/open_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "evals/models/built_in_models.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/parallel.hpp"
#include "harness/plan/work.hpp"
#include "harness/run/foreign_file.hpp"
#include "harness/run/open_weights.hpp"
#include "harness/run/training_history.hpp"
#include "model/decoder/llama2c_file.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "model/train/hugging_face.hpp"
#include "model/train/safetensors.hpp"
#include "results/store/node_path.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

constexpr const char* kWeightsFile = "model.safetensors";

Result<OpenedModel> open_built_in(const BuiltInModelInfo& info, const ModelChoice& choice) {
  if (!choice.device.empty())
    return bad_input(fmt::format("--device {}: the model {} runs on no device; leave it out",
                                 choice.device, info.name));
  if (choice.step)
    return bad_input(
        fmt::format("--step: the model {} has no checkpoints; leave it out", info.name));
  if (!choice.shares_prefixes)
    return bad_input(
        fmt::format("--each-alone: the model {} computes nothing; leave it out", info.name));
  OpenedModel opened;
  opened.label = opened.name = opened.weights = info.name;
  if (choice.tokenizer.empty()) {
    opened.tokenizer = std::make_unique<Tokenizer>(byte_tokenizer());
  } else {
    NB_TRY(opened.tokenizer, load_tokenizer(choice.tokenizer));
  }
  if (opened.tokenizer->bos() < 0)
    return bad_input(choice.tokenizer +
                     ": this tokenizer has no <|bos|>, which every prompt needs");
  opened.model = std::make_unique<BuiltInModel>(info.kind, *opened.tokenizer);
  return opened;
}

DeviceEntry device_of_profile(const std::string& profile) {
  DeviceEntry entry;
  entry.name = entry.profile = profile;
  return entry;
}

// What a node came from, by kind; of one kind the nearest. In the suite's folder, where later runs
// of other settings may have left it out of run.json.
Result<std::optional<StoredRecord>> ancestor(const fs::path& suite_folder, const Record& record,
                                             std::string_view kind, int generations = 8) {
  if (generations == 0)
    return bad_input(
        fmt::format("{}: the parents of {} form a cycle; run the suite again with --fresh",
                    suite_folder.string(), describe(record)));
  for (const std::string& key : record.parents) {
    NB_TRY(std::optional<StoredRecord> parent, find_record(suite_folder, key));
    if (!parent) continue;
    if (parent->record.kind == kind) return parent;
    NB_TRY(std::optional<StoredRecord> found,
           ancestor(suite_folder, parent->record, kind, generations - 1));
    if (found) return found;
  }
  return std::optional<StoredRecord>();
}

template <class Work>
Result<Work> settings_of(const StoredRecord& stored) {
  Json settings = *stored.record.settings;
  settings.erase("effective");  // what came of them (train_stage.cpp)
  auto work =
      parse_struct<Work>(settings, (stored.folder / "record.json").string() + ": /settings");
  if (!work) work.error().message += "; make it again with --fresh";
  return work;
}

Result<StoredRecord> training_of(const fs::path& path) {
  NB_TRY(RunRecords run, read_run(path));
  std::vector<StoredRecord> trainings;
  for (StoredRecord& stored : run.records) {
    if (stored.record.kind != "train") continue;
    if (stored.record.status == "ok")
      trainings.push_back(std::move(stored));
    else
      run.damaged.push_back(
          fmt::format("{}: the training failed: {}", stored.folder.string(), stored.record.error));
  }
  if (trainings.size() == 1) return std::move(trainings.front());
  if (trainings.empty()) {
    const bool is_node = has_record(path) && !run.records.empty();
    return nothing_found(
        run,
        path.string() + (is_node ? fmt::format(": is a node of kind {}; give a training's folder",
                                               run.records.front().record.kind)
                                 : ": no finished training in it; run the suite first"));
  }
  std::string list;
  for (const StoredRecord& training : trainings) list += "\n  " + training.folder.string();
  return bad_input(fmt::format("{}: holds {} trainings; give the folder of one:{}", path.string(),
                               trainings.size(), list));
}

// Scores with another vocabulary would be those of another text.
Result<void> check_same_tokenizer(const fs::path& given, const fs::path& own) {
  NB_TRY(const auto other, load_tokenizer(given));
  NB_TRY(const auto trained, load_tokenizer(own));
  if (other->hash() == trained->hash()) return {};
  return bad_input(
      fmt::format("--tokenizer {}: not the one that the model was trained with, {}; "
                  "leave it out",
                  given.string(), own.string()));
}

// "base@10": of a training that goes on after these weights.
void name_step(OpenedModel& opened, const Record& training, const std::string& file) {
  const auto last = checkpoint_file(training, std::nullopt, "");
  if (!last || *last == file || !opened.checkpoint->is_object()) return;
  const std::string step = "@" + opened.checkpoint->at("steps").dump();
  opened.name += step;
  if (!opened.label.empty()) opened.label += step;
}

Result<std::optional<MicroworldSettings>> world_of_training(const fs::path& suite_folder,
                                                            const Record& training) {
  NB_TRY(const auto dataset, ancestor(suite_folder, training, "dataset"));
  if (!dataset) return std::optional<MicroworldSettings>();
  NB_TRY(const DatasetWork data, settings_of<DatasetWork>(*dataset));
  return data.corpus.microworld;
}

Result<OpenedModel> open_run(const fs::path& path, const ModelChoice& choice) {
  NB_TRY(const StoredRecord train, training_of(path));
  NB_TRY(const std::string checkpoint_name,
         checkpoint_file(train.record, choice.step, train.folder.string()));
  const fs::path checkpoint_path = train.folder / checkpoint_name;
  Result<void> verified;
  std::optional<Result<SafetensorsFile>> file;
  parallel_for(2, 1, [&](std::size_t half) {
    if (half == 0) verified = verify_artifacts(train);
    if (half == 1) file.emplace(SafetensorsFile::open(checkpoint_path));
  });
  NB_TRY_VOID(verified);
  NB_TRY(const SafetensorsFile checkpoint, std::move(*file));
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(train.folder, error);
  if (error) return bad_input(fmt::format("{}: {}", train.folder.string(), error.message()));
  const fs::path suite_folder = folder.parent_path();
  NB_TRY(const auto tokenizer, ancestor(suite_folder, train.record, "tokenizer"));
  if (!tokenizer && choice.tokenizer.empty())
    return bad_input(train.folder.string() +
                     ": the tokenizer that it was trained with is missing; give --tokenizer");
  const fs::path own = !tokenizer ? fs::path() : tokenizer->folder / "tokenizer.json";
  if (tokenizer && !choice.tokenizer.empty())
    NB_TRY_VOID(check_same_tokenizer(choice.tokenizer, own));
  NB_TRY(const TrainWork work, settings_of<TrainWork>(train));
  NB_TRY(OpenedModel opened,
         open_checkpoint(checkpoint, choice.tokenizer.empty() ? own : fs::path(choice.tokenizer),
                         choice.device.empty() ? work.device : device_of_profile(choice.device),
                         choice, &train.record));
  opened.parents.push_back(train.record.node_key);
  if (tokenizer) opened.parents.push_back(tokenizer->record.node_key);
  const std::string name = folder.filename().string();
  opened.label = name.substr(0, name.rfind('-'));
  opened.name = train.record.name;
  name_step(opened, train.record, checkpoint_name);
  opened.trained_on = train.record.device;
  opened.seed = train.record.seed;
  NB_TRY(opened.microworld, world_of_training(suite_folder, train.record));
  return opened;
}

// The record of the training in whose folder the checkpoint still lies. A copy elsewhere, or one
// that the record does not list, has none. bad_input: it is not what the record lists.
Result<std::optional<StoredRecord>> training_beside(const fs::path& checkpoint) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(checkpoint, error);
  const fs::path folder = path.parent_path().parent_path();
  if (error || !has_record(folder)) return std::optional<StoredRecord>();
  auto record = read_record(folder);
  if (!record || record->kind != "train" || record->status != "ok")
    return std::optional<StoredRecord>();
  StoredRecord training{std::move(*record), folder};
  const std::string file = path.lexically_relative(folder).generic_string();
  if (!training.record.artifacts.contains(file)) return std::optional<StoredRecord>();
  NB_TRY_VOID(verify_artifact(training, file));
  return std::optional(std::move(training));
}

// "d20" of "models/d20/", of "." the folder's own name.
std::string folder_name(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  return error ? folder.filename().string() : whole.filename().string();
}

// A file with weights, or a Hugging Face folder.
Result<OpenedModel> open_file(const fs::path& path, const ModelChoice& choice) {
  if (choice.step)
    return bad_input(path.string() +
                     ": --step chooses among the checkpoints of a training's "
                     "folder; leave it out, or give that folder");
  if (choice.device.empty())
    return bad_input(
        fmt::format("{}: needs a device to run on: give --device, for example --device "
                    "ascend_910b3 (npubench list devices)",
                    path.string()));
  const bool is_folder = is_hugging_face_folder(path);
  const bool is_llama = !is_folder && is_llama2c_file(path);
  fs::path tokenizer = choice.tokenizer;
  if (tokenizer.empty()) {
    const fs::path folder = is_folder ? path : path.parent_path();
    NB_TRY(tokenizer,
           is_folder  ? hugging_face_tokenizer(folder)
           : is_llama ? llama2c_tokenizer(folder)
                      : usual_tokenizer(folder),
           path.string());
  }
  const DeviceEntry device = device_of_profile(choice.device);
  const auto open_weights = [&]() -> Result<OpenedModel> {
    if (is_folder) return open_hugging_face_folder(path, tokenizer, device, choice);
    if (is_llama) return open_llama2c(path, tokenizer, device, choice);
    NB_TRY(const SafetensorsFile checkpoint, SafetensorsFile::open(path));
    NB_TRY(const std::optional<StoredRecord> training, training_beside(path));
    NB_TRY(OpenedModel opened, open_checkpoint(checkpoint, tokenizer, device, choice,
                                               training ? &training->record : nullptr));
    if (training) {
      opened.parents.push_back(training->record.node_key);
      opened.name = training->record.name;
      name_step(opened, training->record, "checkpoints/" + path.filename().string());
    }
    return opened;
  };
  NB_TRY(OpenedModel opened, open_weights());
  const bool is_of_folder = is_folder || path.filename() == kWeightsFile;
  opened.label = is_folder      ? folder_name(path)
                 : is_of_folder ? folder_name(path.parent_path())
                                : path.stem().string();
  if (opened.name.empty()) opened.name = opened.label;
  return opened;
}

std::vector<std::string> built_in_names() {
  std::vector<std::string> names;
  for (const BuiltInModelInfo& info : built_in_models()) names.emplace_back(info.name);
  return names;
}

}  // namespace

Result<std::optional<MicroworldSettings>> world_of(const fs::path& run) {
  NB_TRY(const fs::path found, find_node_path(run.string()));
  NB_TRY(const StoredRecord train, training_of(found));
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(train.folder, error);
  if (error) return bad_input(fmt::format("{}: {}", train.folder.string(), error.message()));
  return world_of_training(folder.parent_path(), train.record);
}

Result<OpenedModel> open_model(const ModelChoice& asked) {
  if (const BuiltInModelInfo* info = find_built_in_model(asked.model))
    return open_built_in(*info, asked);
  ModelChoice choice = asked;
  NB_TRY(const fs::path found, find_node_path(asked.model), "--model");
  choice.model = found.string();
  std::error_code error;
  if (fs::exists(choice.model, error)) NB_TRY_VOID(check_model_path(choice.model));
  if (is_hugging_face_folder(choice.model)) return open_file(choice.model, choice);
  // As nanochat_capture.py --convert writes it.
  if (const fs::path weights = found / kWeightsFile;
      !has_record(found) && fs::is_regular_file(weights, error))
    return open_file(weights, choice);
  if (fs::is_directory(choice.model, error)) return open_run(choice.model, choice);
  if (fs::is_regular_file(choice.model, error)) return open_file(choice.model, choice);
  if (!fs::exists(choice.model, error) && error)
    return bad_input(fmt::format("--model {}: {}", choice.model, error.message()));
  return bad_input(fmt::format(
      "--model {}: neither a run's folder nor a checkpoint nor one of {}{}", choice.model,
      fmt::join(built_in_names(), ", "), did_you_mean(choice.model, built_in_names())));
}

}  // namespace nb
