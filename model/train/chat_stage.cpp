#include "model/train/chat_stage.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "model/device/device.hpp"
#include "model/optim/groups.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "model/train/adamw_choice.hpp"
#include "model/train/adapter_file.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/identity.hpp"
#include "model/train/loss_scaler.hpp"
#include "model/train/training_defects.hpp"

namespace nb {

Result<std::unique_ptr<TrainedModel>> open_parent(const ParentCheckpoint& parent, Device& device,
                                                  const Tokenizer& tokenizer,
                                                  const StageRates& rates,
                                                  const std::optional<AdapterSettings>& lora,
                                                  const PortDefects& defects,
                                                  const std::optional<MeshSettings>& mesh) {
  NB_TRY_VOID(check_trainable(device));
  if (mesh && mesh->stages() > 1) NB_TRY_VOID(check_unscaled(device, "a pipeline (mesh/pp)"));
  NB_TRY(const DecoderConfig config, read_model_config(parent.file));
  NB_TRY(const std::string trained, trained_tokenizer(parent.file));
  if (!trained.empty() && trained != tokenizer.hash())
    return bad_input(fmt::format("{}: trained with another tokenizer than {}; give its own",
                                 parent.file.path(), tokenizer_name(tokenizer)));
  NB_TRY_VOID(check_model_ranks(mesh, config, TrainingStage::kSft, lora.has_value()));
  auto model = std::make_unique<TrainedModel>(config, device);
  const double first = rates.init_lr_frac;
  OptimizerRates of_groups = {first * rates.embedding_lr, first * rates.unembedding_lr,
                              first * rates.matrix_lr, rates.weight_decay};
  if (lora) {
    NB_TRY_VOID(check_lora(lora->lora, config, "lora"));
    of_groups.adapter_lr = lora->adapter_lr;
  }
  NB_TRY(model->adamw_denominator, stage_adamw(rates.adamw_denominator, parent.file));
  const auto prepare = [&](TrainedModel& one) {
    if (lora) {
      const auto seed = static_cast<std::uint64_t>(lora->seed.value_or(1));
      one.decoder.adapters().add(lora->lora, seed);
      one.decoder.adapters().set_dropout(lora->dropout, seed);
    }
    prepare_optimizers(one, of_groups, optimizer_rules(defects, one.adamw_denominator));
  };
  prepare_ranks(mesh, *model, prepare);
  return model;
}

Result<void> add_reference(const ParentCheckpoint& parent, TrainedModel& model) {
  for (TrainedModel* one : models_of(model)) {
    one->reference = std::make_unique<Decoder>(one->decoder.config(), one->decoder.device());
    NB_TRY_VOID(load_merged_weights(parent.file, *one->reference));
  }
  return {};
}

Result<void> check_lengths(const ConversationSet& set, const DecoderConfig& config,
                           std::string_view split) {
  for (std::size_t i = 0; i < set.rendered.size(); ++i) {
    const std::int64_t inputs = std::ssize(set.rendered[i].ids) - 1;
    if (inputs > config.max_positions())
      return bad_input(fmt::format(
          "{} conversation {} has {} tokens, beyond the model's {} positions; leave it out, or "
          "train BASE with a longer sequence_len",
          split, i + 1, inputs + 1, config.max_positions()));
  }
  return {};
}

Result<Json> identity_of_stage(TrainingStage stage, Json hashed_settings, const Decoder& decoder,
                               const ParentCheckpoint& parent, const DataDigests& data) {
  Json identity = identity_of_run(std::move(hashed_settings), decoder, data.tokenizer);
  identity["stage"] = name(stage);
  NB_TRY(Json history, checkpoint_history(parent.file));
  identity["parent"] = {{"weights", parent.weights}, {"history", std::move(history)}};
  identity["data"] = data.train;
  identity["validation_data"] = data.validation;
  return identity;
}

Result<TrainResult> run_chat_stage(StageTask& task, TrainedModel& model,
                                   const ParentCheckpoint& parent, const DataDigests& data,
                                   Json hashed_settings, const TrainLoop& loop,
                                   const std::filesystem::path& folder, const TrainHooks& hooks,
                                   const std::function<Result<void>()>& load_more) {
  for (const std::int64_t step : loop.keep_steps)
    if (step < 0 || step > task.iterations())
      return bad_input(
          fmt::format("keep_steps: {}: the stage has the steps 0 to {}; give some of "
                      "these",
                      step, task.iterations()));
  NB_TRY(Json identity,
         identity_of_stage(task.stage(), std::move(hashed_settings), model.decoder, parent, data));
  add_adamw(model.adamw_denominator, identity);
  add_mesh(model, identity);
  const auto start = [&]() -> Result<void> {
    NB_TRY(const bool is_merged, load_merged_weights(parent.file, model.decoder));
    if (is_merged && hooks.on_note)
      hooks.on_note(
          fmt::format("the adapters of {} are merged into its weights", parent.file.path()));
    if (load_more) NB_TRY_VOID(load_more());
    return {};
  };
  try {
    NB_TRY(TrainResult result,
           run_training(task, model, data.tokenizer, identity, loop, start, folder, hooks));
    if (model.decoder.adapters().settings())
      NB_TRY_VOID(save_adapters(folder / kAdapterFile, model.decoder));
    return result;
  } catch (const OutOfMemory& failure) {
    return run_error(fmt::format("{}; lower device_batch_size", failure.what()));
  }
}

}  // namespace nb
