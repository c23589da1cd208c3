#include "model/train/replicas.hpp"

#include <cmath>
#include <span>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "model/data/batch_hash.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/ops/transfer.hpp"
#include "model/train/not_finite.hpp"

namespace nb {
namespace {

bool is_averaged(const Parameter& p, Averaged averaged) {
  return averaged == Averaged::kAll ||
         (p.role != ParameterRole::kEmbedding && p.role != ParameterRole::kUnembedding);
}

std::string digest_of(const Tensor& tensor) {
  Sha256 hash;
  hash.update(std::as_bytes(tensor.host()));
  return hash.hex();
}

double clip(Decoder& decoder, const StepPlan& plan) {
  return plan.grad_clip ? clip_gradients(decoder, *plan.grad_clip) : gradient_norm(decoder);
}

}  // namespace

Replica::Replica(const DecoderConfig& config, Device& device, const OptimizerRates& rates,
                 const OptimizerRules& rules, std::uint64_t seed, Averaged averaged)
    : decoder_(config, device),
      optimizers_(make_optimizers(decoder_, rates, nullptr, rules)),
      averaged_(averaged) {
  decoder_.init(seed);
}

void Replica::step(const SchedulePoint& point) {
  for (const auto& optimizer : optimizers_) optimizer->step(point);
  has_stepped_ = true;
}

void Replica::allocate_state() {
  for (const auto& optimizer : optimizers_) optimizer->allocate_state();
  has_stepped_ = true;
}

std::vector<NamedState> Replica::state() {
  std::vector<NamedState> named;
  if (!has_stepped_) return named;
  for (Parameter& p : decoder_.parameters()) named.push_back({"replica." + p.name, &p.value});
  for (const auto& optimizer : optimizers_)
    for (const NamedState& one : optimizer->state())
      named.push_back({"replica." + one.name, one.tensor});
  return named;
}

StepOutcome run_step_with(Replica& replica, Decoder& decoder, OptimizerList optimizers,
                          const StepPlan& plan, const SchedulePoint& point,
                          const std::function<Batch()>& next) {
  NB_CHECK(plan.accumulation_steps % 2 == 0, "[replicas] {} micro-batches for two",
           plan.accumulation_steps);
  Device& device = decoder.device();
  StepOutcome outcome;
  device.synchronize();
  const std::int64_t start_ns = device.time_ns();
  const auto micro_batches = static_cast<double>(plan.accumulation_steps);
  BatchHash read;
  for (std::int64_t micro = 0; micro < plan.accumulation_steps; ++micro) {
    Decoder& one = micro % 2 == 0 ? decoder : replica.decoder();
    const Batch batch = next();
    read.add(batch);
    outcome.tokens += batch.rows * batch.length;
    const auto loss = static_cast<double>(one.loss_and_backward(
        batch.inputs, batch.targets, batch.rows, batch.length, 2.0 / micro_batches));
    outcome.loss += loss;
    note_not_finite(outcome.not_finite, loss, one, batch);
    if (plan.gradient_sum) round_gradients(one, *plan.gradient_sum);
  }
  outcome.batch_hash = read.value();
  outcome.loss /= micro_batches;
  outcome.grad_norm = (clip(decoder, plan) + clip(replica.decoder(), plan)) / 2;
  if (!std::isfinite(outcome.grad_norm)) return outcome;  // as apply_gradients: nothing is changed
  std::vector<Parameter*> mine = decoder.trained_parameters(),
                          other = replica.decoder().trained_parameters();
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (is_averaged(*mine[i], replica.averaged()))
      ops::grad_average(device, mine[i]->grad, other[i]->grad, mine[i]->name);
  for (const auto& optimizer : optimizers) optimizer->step(point);
  decoder.zero_grad();
  replica.decoder().zero_grad();
  ops::read_scalar(device, "train_loss");
  device.synchronize();
  outcome.time_ns = device.time_ns() - start_ns;
  return outcome;
}

std::vector<std::string> differing_parameters(const Decoder& a, const Decoder& b) {
  const std::vector<Parameter>&left = a.parameters(), &right = b.parameters();
  NB_CHECK(left.size() == right.size(), "[replicas] {} and {} parameters", left.size(),
           right.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (digest_of(left[i].value) != digest_of(right[i].value)) names.push_back(left[i].name);
  return names;
}

}  // namespace nb
