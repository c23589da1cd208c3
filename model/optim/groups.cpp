#include "model/optim/groups.hpp"

#include <algorithm>
#include <utility>

#include "model/ops/optimizer_ops.hpp"
#include "model/optim/adamw.hpp"
#include "model/optim/muon.hpp"
#include "model/optim/schedules.hpp"

namespace nb {

namespace {

// AdamW's groups, in the order of their steps, and Muon's matrices.
struct Groups {
  std::vector<AdamWGroup> adamw;
  std::vector<Parameter*> matrices;
};

Groups group_by_role(std::span<Parameter* const> trained, const Decoder& decoder,
                     const OptimizerRates& rates, const OptimizerRules& chosen) {
  const double width = chosen.scales_with_width ? width_lr_scale(decoder.config().n_embd) : 1;
  std::vector<AdamWGroup> adamw, embeddings, value_embeddings, vectors;
  std::vector<Parameter*> matrices;
  for (Parameter* p : trained) {
    switch (p->role) {
      case ParameterRole::kUnembedding:
        adamw.push_back({p, rates.unembedding_lr * width});
        break;
      case ParameterRole::kEmbedding:
        embeddings.push_back({p, rates.embedding_lr * width});
        break;
      case ParameterRole::kValueEmbedding:
        value_embeddings.push_back({p, rates.embedding_lr * width / 2});
        break;
      case ParameterRole::kAdapter:
        vectors.push_back({p, rates.adapter_lr.value_or(rates.unembedding_lr * width)});
        break;
      case ParameterRole::kVector:  // at the rate of lm_head, as they have none of their own
        vectors.push_back({p, rates.unembedding_lr * width});
        break;
      case ParameterRole::kMatrix:
        if (chosen.uses_muon)
          matrices.push_back(p);
        else
          vectors.push_back({p, rates.unembedding_lr * width});
        break;
    }
  }
  for (const std::vector<AdamWGroup>& more : {embeddings, value_embeddings, vectors})
    adamw.insert(adamw.end(), more.begin(), more.end());
  return {std::move(adamw), std::move(matrices)};
}

AdamWRules adamw_rules(const OptimizerRates& rates, const OptimizerRules& chosen) {
  AdamWRules rules = chosen.adamw;
  rules.weight_decay = rates.weight_decay;
  return rules;
}

}  // namespace

std::vector<std::unique_ptr<Optimizer>> make_optimizers(Decoder& decoder,
                                                        const OptimizerRates& rates,
                                                        Communicator* communicator,
                                                        const OptimizerRules& chosen) {
  Groups groups = group_by_role(decoder.trained_parameters(), decoder, rates, chosen);
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  if (!groups.adamw.empty())
    optimizers.push_back(std::make_unique<AdamW>(
        std::move(groups.adamw), adamw_rules(rates, chosen), decoder.device(), communicator));
  if (!groups.matrices.empty())
    optimizers.push_back(std::make_unique<Muon>(std::move(groups.matrices), rates.matrix_lr,
                                                decoder.device(), communicator));
  return optimizers;
}

std::vector<std::unique_ptr<Optimizer>> make_sharded_optimizers(
    std::span<const ParameterRows> trained, const Decoder& decoder, const OptimizerRates& rates,
    Communicator& communicator, const OptimizerRules& chosen) {
  std::vector<Parameter*> parameters;
  for (const ParameterRows& one : trained) parameters.push_back(one.rows);
  Groups groups = group_by_role(parameters, decoder, rates, chosen);
  const bool has_adamw = !groups.adamw.empty();  // on some rank: all have the same optimizers
  std::erase_if(groups.adamw,
                [](const AdamWGroup& group) { return group.parameter->value.empty(); });
  std::vector<ParameterRows> matrices;
  for (Parameter* rows : groups.matrices)
    matrices.push_back(
        *std::ranges::find(trained, rows, [](const ParameterRows& one) { return one.rows; }));
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  if (has_adamw)
    optimizers.push_back(std::make_unique<AdamW>(
        std::move(groups.adamw), adamw_rules(rates, chosen), decoder.device(), nullptr));
  if (!matrices.empty())
    optimizers.push_back(std::make_unique<ShardedMuon>(std::move(matrices), rates.matrix_lr,
                                                       decoder.device(), communicator));
  return optimizers;
}

namespace {

std::vector<Tensor*> gradients_of(Decoder& decoder) {
  std::vector<Tensor*> gradients;
  for (Parameter* p : decoder.trained_parameters())
    if (!p->grad.empty()) gradients.push_back(&p->grad);
  return gradients;
}

}  // namespace

double gradient_norm(Decoder& decoder) {
  return decoder.device().executes() ? ops::norm_of(gradients_of(decoder)) : 0;
}

void round_gradients(Decoder& decoder, DType dtype) {
  ops::grad_round(decoder.device(), gradients_of(decoder), dtype);
}

double clip_gradients(Decoder& decoder, double max_norm) {
  const std::vector<Tensor*> gradients = gradients_of(decoder);
  const double norm = ops::grad_norm(decoder.device(), gradients);
  if (max_norm > 0) {
    const double factor = max_norm / (norm + 1e-6);
    // !(factor < 1): a NaN norm scales nothing; the trainer stops at it.
    ops::grad_scale(decoder.device(), gradients, factor < 1 ? static_cast<float>(factor) : 1.0F);
  }
  return norm;
}

}  // namespace nb
