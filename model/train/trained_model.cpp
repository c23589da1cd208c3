// A model with what it is trained by: cut or whole, alone or as the first of several ranks.
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/train/data_ranks.hpp"
#include "model/train/loss_scaler.hpp"
#include "model/train/not_finite.hpp"

namespace nb {

WholeWeights::WholeWeights(TrainedModel& model) : sharded_(model.sharded.get()) {
  if (sharded_ != nullptr) sharded_->gather_all();
}
WholeWeights::~WholeWeights() {
  if (sharded_ != nullptr) sharded_->free_all();
}

TrainedModel::TrainedModel(const DecoderConfig& config, Device& device) : decoder(config, device) {}
TrainedModel::~TrainedModel() = default;

Decoder& trained_decoder(TrainedModel& model) {
  return model.tensor == nullptr ? model.decoder : model.tensor->decoder();
}

void prepare_optimizers(TrainedModel& model, const OptimizerRates& rates,
                        const OptimizerRules& rules) {
  if (model.tensor_plan)
    model.tensor = std::make_unique<TensorShard>(model.decoder, *model.tensor_plan);
  if (model.pipeline_plan)
    model.pipeline = std::make_unique<PipelineRank>(trained_decoder(model), *model.pipeline_plan);
  if (model.tensor != nullptr) {
    model.optimizers = make_sharded_optimizers(model.tensor->own(), model.decoder, rates,
                                               model.tensor->group(), rules);
    return;
  }
  if (model.context_plan)
    model.context = std::make_unique<ContextRank>(model.decoder, *model.context_plan);
  if (!model.shard_plan) {
    model.optimizers = make_optimizers(model.decoder, rates, model.shared.get(), rules);
    return;
  }
  model.sharded = std::make_unique<ShardedWeights>(model.decoder, *model.shard_plan);
  model.optimizers = make_sharded_optimizers(model.sharded->trained(), model.decoder, rates,
                                             model.sharded->group(), rules);
}

void round_gradients(TrainedModel& model, DType dtype) {
  if (model.sharded != nullptr)
    model.sharded->round_gradients(dtype);
  else
    round_gradients(trained_decoder(model), dtype);
}

void note_on_rank(std::string& found, double loss, TrainedModel& model, const Batch& batch) {
  if (model.sharded == nullptr && model.tensor == nullptr)
    note_not_finite(found, loss, model.decoder, batch);
}

void begin_on_rank(TrainedModel& model, Communicator& world) {
  if (model.shared != nullptr) model.shared->lend(&world);
  if (model.sharded != nullptr) model.sharded->begin(world);
  if (model.tensor != nullptr) model.tensor->begin(world);
  if (model.pipeline != nullptr) model.pipeline->begin(world);
  if (model.context != nullptr) model.context->begin(world);
}

void end_on_rank(TrainedModel& model) {
  if (model.shared != nullptr) model.shared->lend(nullptr);
  if (model.sharded != nullptr) model.sharded->end();
  if (model.tensor != nullptr) model.tensor->end();
  if (model.pipeline != nullptr) model.pipeline->end();
  if (model.context != nullptr) model.context->end();
}

void prepare_rank(const std::optional<MeshSettings>& mesh, TrainedModel& model,
                  const std::function<void(TrainedModel&)>& prepare) {
  const std::int64_t ranks = mesh ? mesh->ranks() : 1;
  if (mesh) model.reduce = wire_type(mesh->reduce);
  if (mesh && mesh->is_sharded()) {
    const auto copies = static_cast<int>(mesh->copies());
    model.shard_plan = {.pieces = static_cast<int>(ranks) / copies,
                        .copies = copies,
                        .param = wire_type(mesh->param),
                        .reduce = wire_type(mesh->reduce)};
  }
  if (mesh && mesh->tensor_ranks() > 1)
    model.tensor_plan = TensorPlan{.parts = static_cast<int>(mesh->tensor_ranks()),
                                   .copies = static_cast<int>(mesh->dp),
                                   .stages = static_cast<int>(mesh->stages()),
                                   .reduce = wire_type(mesh->reduce),
                                   .is_sequence_parallel = mesh->is_sequence_parallel()};
  if (mesh && mesh->stages() > 1)
    model.pipeline_plan = {.stages = static_cast<int>(mesh->stages()),
                           .copies = static_cast<int>(mesh->data_ranks()),
                           .parts = static_cast<int>(mesh->tensor_ranks()),
                           .schedule = pipeline_schedule(mesh->schedule.value_or("1f1b")),
                           .micro_batches = mesh->micro_batches};
  if (mesh && mesh->context_ranks() > 1)
    model.context_plan = ContextPlan{.parts = static_cast<int>(mesh->context_ranks()),
                                     .copies = static_cast<int>(mesh->data_ranks()),
                                     .kind = context_kind(mesh->context_name())};
  if (ranks > 1 && mesh->zero)
    model.shared =
        std::make_unique<LentCommunicator>(model.decoder.device(), 0, static_cast<int>(ranks));
  prepare(model);
}

void prepare_ranks(const std::optional<MeshSettings>& mesh, TrainedModel& model,
                   const std::function<void(TrainedModel&)>& prepare) {
  prepare_rank(mesh, model, prepare);
  if (model.decoder.device().numerics().loss_scaling == LossScaling::kDynamic)
    model.scaler = std::make_unique<LossScaler>();
  if (mesh && mesh->ranks() > 1) model.ranks = std::make_unique<DataRanks>(model, *mesh, prepare);
}

OptimizerList whole_optimizers(const TrainedModel& model) {
  if (model.ranks == nullptr || model.ranks->shared_state() == nullptr) return model.optimizers;
  return model.ranks->shared_state()->whole();
}

void add_mesh(const TrainedModel& model, Json& identity) {
  if (model.ranks == nullptr) return;
  identity["mesh"] = print_struct(model.ranks->mesh());
}

std::vector<TrainedModel*> models_of(TrainedModel& model) {
  return model.ranks != nullptr ? model.ranks->models() : std::vector{&model};
}

namespace {

// Scaled by plan.loss_scale, whatever comes of it.
StepOutcome run_once(TrainedModel& model, const StepPlan& plan, const SchedulePoint& point,
                     const std::function<Batch()>& next) {
  if (model.ranks == nullptr)
    return run_step(model.decoder, model.optimizers, plan, point, next, model.observer);
  return model.ranks->step(plan, point, next,
                           [](TrainedModel& one, const Batch& batch, std::int64_t, double share) {
                             return static_cast<double>(trained_decoder(one).loss_and_backward(
                                 batch.inputs, batch.targets, batch.rows, batch.length, share));
                           });
}

}  // namespace

StepOutcome run_step(TrainedModel& model, const StepPlan& plan, const SchedulePoint& point,
                     const std::function<Batch()>& next) {
  if (model.scaler == nullptr) return run_once(model, plan, point, next);
  StepPlan scaled = plan;
  scaled.loss_scale = model.scaler->scale();
  SchedulePoint made = point;
  made.skipped = model.scaler->skipped();
  StepOutcome outcome = run_once(model, scaled, made, next);
  const bool is_finite = std::isfinite(outcome.grad_norm);
  outcome.is_skipped = model.scaler->update(is_finite) && !is_finite;
  if (outcome.is_skipped)
    for (TrainedModel* one : models_of(model)) {
      trained_decoder(*one).zero_grad();
      if (one->sharded != nullptr) one->sharded->zero_grad();
    }
  return outcome;
}

}  // namespace nb
